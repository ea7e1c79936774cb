// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {
inline namespace native {

/// On which CPUs a thread runs, and how readily it leaves them to others.
///
/// Threads: a plain value; what ends in _here concerns the thread that calls it.
class thread_traits {
 public:
  /// Those of the thread that starts it.
  thread_traits() = default;

  /// `cpus`: the system's numbers; empty: as who starts it. `niceness`: added to that of the calling thread, as nice(1)
  /// does; less than zero is before others. `whose`: for the errors, as in «dispatcher "io"».
  ///
  /// Cost:   a thread that tries it, unless all is as usual.
  /// Errors: std::invalid_argument if the program may not, or not on this system; it says what it may.
  ///         std::system_error if there is no thread to be had.
  thread_traits(std::vector<unsigned> cpus, int niceness, std::string_view whose);

  [[nodiscard]] const std::vector<unsigned>& cpus() const noexcept { return cpus_; }

  // What has been allowed before and is not any more is left as it was.
  void apply_here() const noexcept;
  /// Only on that one of cpus().
  void pin_here(std::size_t which) const noexcept;

 private:
  std::vector<unsigned> cpus_;
  std::optional<int> niceness_;  // as the system counts it
};

/// How many CPUs the calling thread may run on: fewer than the machine has, under taskset, in a container that is given some. At
/// least 1. Cost: a system call.
[[nodiscard]] unsigned usable_cpus() noexcept;

}  // namespace native
}  // namespace troupe
