// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <thread>

#include "lab/pipeline/requests.hpp"

namespace troupe::lab::pipeline {

/// Computes the whole result of a request on this thread; yields between its parts.
inline std::uint64_t compute(const request& one) {
  computation its(one);
  its.next_part();
  while (!its.is_over()) {
    std::this_thread::yield();
    its.next_part();
  }
  return its.result();
}

/// Processes the whole request, on a thread that sleeps when the request does.
inline std::uint64_t handle(const request& one) {
  if (one.sleep.count() != 0) std::this_thread::sleep_for(one.sleep);
  return compute(one);
}

}  // namespace troupe::lab::pipeline
