// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/base/clock.hpp>
#include <troupe/detail/base/thread_host.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::detail {

/// Waits in the simulation instead of on a futex.
///
/// Returns true if this thread does not sleep on futexes. If the word had the expected value, the
/// thread has then slept in its host.
inline bool wait_in_simulation(const atomic<std::uint32_t>& word, std::uint32_t expected,
                               time_point deadline) noexcept {
  thread_host* const host = thread_host::here();
  if (host == nullptr) [[likely]]
    return false;
  // [futex] relaxed: the caller checks again.
  if (word.load(relaxed) == expected) host->sleep_until(deadline);
  return true;
}

}  // namespace troupe::detail
