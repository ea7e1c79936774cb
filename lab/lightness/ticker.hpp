// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <troupe/sync/atomic.hpp>

namespace troupe::lab {

/// A clock tick for the processor that its maker runs on. Linux does not let anybody change its own, so this is a
/// process that a high-resolution timer wakes up there, and that goes to sleep again at once: an interrupt, over
/// to it, and back to whoever is next. It has real-time priority, or where that is not wanted or allowed the best
/// that is: see priority().
///
/// Threads: of a process that has one thread when it is made.
/// Errors:  std::system_error if no process can be made.
class ticker {
 public:
  ticker(std::chrono::microseconds interval, bool real_time);
  ticker(const ticker&) = delete;
  ticker& operator=(const ticker&) = delete;
  ~ticker();

  /// How often it has ticked so far, and how many ticks were over before it came to them.
  [[nodiscard]] std::uint64_t ticks() const noexcept;
  [[nodiscard]] std::uint64_t missed() const noexcept;

  /// "" with real-time priority, else what it has instead, and why.
  [[nodiscard]] const std::string& priority() const noexcept { return priority_; }

 private:
  struct shared;
  [[noreturn]] static void tick(shared& with, std::chrono::microseconds interval, bool real_time,
                                int ready, pid_t maker);

  shared* shared_;
  pid_t process_ = 0;
  std::string priority_;
};

}  // namespace troupe::lab
