// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {
inline namespace native {

/// The CPU affinity and the niceness of a thread.
///
/// Threads: a plain value; functions that end in _here apply to the calling thread.
class thread_traits {
 public:
  /// Inherits both from the thread that starts it.
  thread_traits() = default;

  /// `cpus`: numbers of the operating system; empty: inherited. `niceness`: added to that of the
  /// calling thread, as by nice(1); a negative value raises the priority. `whose`: names the owner
  /// in error messages, as in «dispatcher "io"».
  ///
  /// Cost:   a thread that tries the settings, unless they are the defaults.
  /// Errors: std::invalid_argument if the program lacks the permission, or the system the feature;
  ///         the text says what is allowed. std::system_error if no thread can be created.
  thread_traits(std::vector<unsigned> cpus, int niceness, std::string_view whose);

  [[nodiscard]] const std::vector<unsigned>& cpus() const noexcept { return cpus_; }

  // Settings that are no longer permitted are left unchanged.
  void apply_here() const noexcept;
  /// Pins the thread to that element of cpus().
  void pin_here(std::size_t which) const noexcept;

 private:
  std::vector<unsigned> cpus_;
  std::optional<int> niceness_;  // as the operating system counts it
};

/// Returns the number of CPUs that the calling thread may use, at least 1. These are the CPUs that
/// it may run on (taskset, cpusets), limited by the CPU quotas of its control groups, of version 1
/// or 2, rounded up.
///
/// Cost: a system call, and reading some files of /proc and /sys.
[[nodiscard]] unsigned usable_cpus() noexcept;

}  // namespace native
}  // namespace troupe
