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

}  // namespace troupe::lab::pipeline
