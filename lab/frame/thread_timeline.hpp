// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace troupe::lab {

/// Records the work of threads of a variant without Troupe, in the form of Troupe's traces, so that
/// both can be compared. It records only if the environment variable TROUPE_TRACE names a file,
/// which its destructor writes.
///
/// Threads: each lane by one thread at a time; the rest by one thread while no lane is used.
/// Cost:    without the variable, a comparison for each call.
class thread_timeline {
 public:
  using clock = std::chrono::steady_clock;

  /// Lanes have the numbers from 0; the name of a lane is "worker" and its number plus one.
  explicit thread_timeline(std::size_t lanes);
  thread_timeline(const thread_timeline&) = delete;
  thread_timeline& operator=(const thread_timeline&) = delete;
  ~thread_timeline();

  /// Calls `what` and records its duration. `name` must be a literal without quotes. Slices of the
  /// same name that are at most 20 us apart become one.
  template <class What>
  auto running(std::size_t lane, const char* name, What&& what) {
    return record(lane, name, false, std::forward<What>(what));
  }
  /// The same for a time in which the thread sleeps.
  template <class What>
  auto waiting(std::size_t lane, const char* name, What&& what) {
    return record(lane, name, true, std::forward<What>(what));
  }

 private:
  struct slice {
    clock::time_point begin;
    clock::time_point end;
    const char* name;
    bool waits;
  };

  template <class What>
  auto record(std::size_t lane, const char* name, bool waits, What&& what) {
    if (lanes_.empty()) return what();
    struct until_end {
      thread_timeline& to;
      std::size_t lane;
      slice now;
      ~until_end() {
        now.end = clock::now();
        to.add(lane, now);
      }
    } at_end{*this, lane, {clock::now(), {}, name, waits}};
    return what();
  }
  void add(std::size_t lane, const slice& one);
  void write(const std::string& file) const;

  const clock::time_point zero_ = clock::now();
  std::vector<std::vector<slice>> lanes_;  // empty: not recorded
};

}  // namespace troupe::lab
