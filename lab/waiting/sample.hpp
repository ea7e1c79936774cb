// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <troupe/base/cache_line.hpp>
#include <troupe/sync/atomic.hpp>
#include <vector>

#include "lab/frame/trial.hpp"

namespace troupe::lab {

inline double cpu_ns_of(clockid_t whose) {
  timespec now{};
  ::clock_gettime(whose, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}
/// Return the CPU time so far of the whole process and of this thread, in nanoseconds and with that
/// resolution.
inline double cpu_ns() { return cpu_ns_of(CLOCK_PROCESS_CPUTIME_ID); }
inline double thread_cpu_ns() { return cpu_ns_of(CLOCK_THREAD_CPUTIME_ID); }

/// Values for percentiles; at most `most` are kept.
class sample {
 public:
  explicit sample(std::size_t most = 65'536) : most_(most) { values_.reserve(most); }

  void add(double value) {
    if (values_.size() < most_) values_.push_back(value);
  }
  void add(const sample& other) {
    values_.insert(values_.end(), other.values_.begin(), other.values_.end());
  }

  /// Returns the least value that the given part of all values do not exceed; 0 without values.
  double percentile(double part) {
    if (values_.empty()) return 0;
    const auto at = std::min(values_.size() - 1,
                             static_cast<std::size_t>(part * static_cast<double>(values_.size())));
    std::nth_element(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(at),
                     values_.end());
    return values_[at];
  }

 private:
  std::size_t most_;
  std::vector<double> values_;
};

/// The work of some threads in a given time.
struct timed_work {
  double operations = 0;
  double wall_s = 0;
  double cpu_ns = 0;

  double rate() const { return operations / wall_s; }
  double cpu_ns_each() const { return cpu_ns / operations; }
  void add(const timed_work& more) {
    operations += more.operations;
    wall_s += more.wall_s;
    cpu_ns += more.cpu_ns;
  }
};

/// Runs `body(thread, stop)` on a number of threads, and requests the stop after some time. Each
/// body returns its number of operations.
template <class Body>
timed_work for_some_time(std::uint64_t threads, std::chrono::milliseconds time, Body body) {
  struct alignas(cache_line_bytes) count {
    std::uint64_t value = 0;
  };
  std::vector<count> done(threads);
  atomic<bool> stop{false};
  const double cpu = cpu_ns();
  const auto began = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> all;
    for (std::uint64_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] { done[t].value = body(t, stop); });
    }
    std::this_thread::sleep_for(time);
    stop.store(true, relaxed);  // [stop] relaxed: the end of the threads orders it
  }
  timed_work all;
  all.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  all.cpu_ns = cpu_ns() - cpu;
  for (const count& each : done) all.operations += static_cast<double>(each.value);
  return all;
}

}  // namespace troupe::lab
