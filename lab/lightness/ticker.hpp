// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <troupe/sync/atomic.hpp>

namespace troupe::lab {

/// A clock tick for the processor that its creator runs on. Linux does not let programs change the
/// kernel's own tick. So this is a process that a high-resolution timer wakes on that processor,
/// and that sleeps again at once: an interrupt, a switch to the process, and a switch back to the
/// next task. It has real-time priority. If that is not wanted or not allowed, it has the best
/// priority that is: see priority().
///
/// Threads: for a process that has one thread when the ticker is created.
/// Errors:  std::system_error if no process can be created.
class ticker {
 public:
  ticker(std::chrono::microseconds interval, bool real_time);
  ticker(const ticker&) = delete;
  ticker& operator=(const ticker&) = delete;
  ~ticker();

  /// Returns the number of ticks so far, and the number of ticks whose time was over before the
  /// process got to them.
  [[nodiscard]] std::uint64_t ticks() const noexcept;
  [[nodiscard]] std::uint64_t missed() const noexcept;

  /// Returns "" with real-time priority, otherwise the priority that it has instead, and the
  /// reason.
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
