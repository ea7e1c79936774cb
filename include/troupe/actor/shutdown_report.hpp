// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/message/address.hpp>

namespace troupe {

/// The actors that had not terminated when system::shutdown() or shutdown_now() stopped waiting,
/// and their activity at that time.
struct shutdown_report {
  struct straggler {
    address who;
    std::string name;
    std::string doing;  // "in on(withdraw)", "in its destructor", "waits for its pump", …
    // Upper bound for the number of messages in its mailbox: a large message counts as several, and
    // handled messages are subtracted in steps of an eighth of the limit.
    std::size_t waiting = 0;
  };

  std::vector<straggler> stragglers;
  duration waited{};
  // messages that terminated actors left unhandled, since the first call
  std::uint64_t discarded = 0;

  [[nodiscard]] bool complete() const noexcept { return stragglers.empty(); }
};

/// Returns a line for each actor in the report, each ending in '\n'. Empty if all actors have
/// terminated.
[[nodiscard]] std::string to_string(const shutdown_report& report);

}  // namespace troupe
