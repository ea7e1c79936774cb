// SPDX-License-Identifier: Apache-2.0
#if defined(__linux__) && !defined(TROUPE_PORTABLE_WAIT)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/sync/futex.hpp>

#include "wait_in_simulation.hpp"

namespace troupe {
inline namespace native {
namespace {

static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t),
              "the kernel reads the word where the atomic lies");

// Waits with an absolute deadline on CLOCK_MONOTONIC. FUTEX_WAIT would take a relative one, which
// grows when an interrupted wait is repeated. Returns errno, or 0.
int wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
         const timespec* deadline) noexcept {
  for (;;) {
    const long result = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
                                  expected, deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
    const int error = result == 0 ? 0 : errno;
    if (error == EINTR) continue;
    TROUPE_ASSERT(error == 0 || error == EAGAIN || error == ETIMEDOUT, "futex: wait failed");
    return error;
  }
}

}  // namespace

void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  if (detail::wait_in_simulation(word, expected, time_point::max())) return;
  wait(word, expected, nullptr);
}

bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                      time_point deadline) noexcept {
  if (detail::wait_in_simulation(word, expected, deadline)) return clock::now() >= deadline;
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  using std::chrono::seconds;
  // The kernel rejects a negative time. For a deadline in the past, zero is equivalent.
  const auto since = std::max(duration{}, deadline.time_since_epoch());
  const auto whole = duration_cast<seconds>(since);
  timespec at{};
  at.tv_sec = static_cast<std::time_t>(whole.count());
  at.tv_nsec = static_cast<long>(duration_cast<nanoseconds>(since - whole).count());
  return wait(word, expected, &at) == ETIMEDOUT;
}

void futex_wake(const atomic<std::uint32_t>& word, std::uint32_t count) noexcept {
  const auto limit = std::min<std::uint32_t>(count, INT_MAX);
  ::syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, limit, nullptr, nullptr, 0);
}

}  // namespace native
}  // namespace troupe

#endif
