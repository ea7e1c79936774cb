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
  return {.workers = static_cast<unsigned>(t["workers"])};
}

}  // namespace troupe::lab::workloads
