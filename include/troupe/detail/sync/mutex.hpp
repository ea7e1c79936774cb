// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe {
inline namespace native {

using mutex = std::mutex;
using condition_variable = std::condition_variable;

}  // namespace native
}  // namespace troupe
