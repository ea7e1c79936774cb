// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::detail {

/// The place where the threads of a semaphore sleep. Each promise lets one thread pass, whichever
/// comes first. A promise that is made before any thread sleeps is kept for the next one.
///
/// Threads:   any.
/// Invariant: as many threads pass as were let through. May be destroyed as soon as no thread will
///            pass and none will be let through, even if let_through() has not returned.
/// Cost:      let_through() is a system call. pass() sleeps unless a promise is available.
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
