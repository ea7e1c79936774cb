// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <troupe/troupe.hpp>

#include "lab/engines/measured.hpp"
#include "lab/frame/trial.hpp"

namespace troupe::lab::workloads {

using ::workloads::rss_bytes, ::workloads::seconds_since;

inline system_options system_of(const trial& t) {
  system_options made{.workers = static_cast<unsigned>(t["workers"])};
  made.turn_messages = static_cast<unsigned>(t.get("turn_messages", made.turn_messages));
  made.spin_rounds = static_cast<unsigned>(t.get("spin_rounds", made.spin_rounds));
  made.max_messages = t.get("max_messages", made.max_messages);
  return made;
}

}  // namespace troupe::lab::workloads
