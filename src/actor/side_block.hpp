// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <troupe/message/envelope.hpp>

namespace troupe::detail {

struct timer_entry;

/// What only some actors need; see control_block::side().
struct side_block {
  explicit side_block(std::string called = {}) : name(std::move(called)) {}

  std::string name;               // set by the spawner, then constant
  envelope* watchers = nullptr;   // message_envelope<down>s, waiting for the end; the turn's
  std::string what;               // of the exception that it failed with; the turn's
  timer_entry* timers = nullptr;  // all that are armed for it; under the timer service's mutex
};

}  // namespace troupe::detail
