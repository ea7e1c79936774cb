// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/base/clock.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

/// Where the threads sleep that a semaphore wakes: each promise lets one through, whoever comes first, and
/// one that comes before its sleeper is kept.
///
/// Threads:   any.
/// Invariant: as many pass as were let through. May be destroyed as soon as nobody is going to pass and
///            nobody to be let through, though let_through() may not have returned.
/// Cost:      let_through() is a system call. pass() sleeps unless a promise is there.
class turnstile {
 public:
  void pass() noexcept;

  /// Returns false if the deadline passed.
  [[nodiscard]] bool pass_until(time_point deadline) noexcept;

  void let_through(std::uint32_t count) noexcept;

 private:
  bool take() noexcept;

  atomic<std::uint32_t> promises_{0};
};

}  // namespace troupe::detail
