// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/base/clock.hpp>
#include <troupe/base/thread_host.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

/// True: this thread does not sleep on futexes. It has been somewhere else, if the word is as expected.
inline bool wait_in_simulation(const atomic<std::uint32_t>& word, std::uint32_t expected,
                               time_point deadline) noexcept {
  thread_host* const host = thread_host::here();
  if (host == nullptr) [[likely]]
    return false;
  // [futex] relaxed: the caller looks again.
  if (word.load(relaxed) == expected) host->sleep_until(deadline);
  return true;
}

}  // namespace troupe::detail
