// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "lab/waiting/sample.hpp"

namespace troupe::lab {

/// Measures how responsive the host is for a program that has nothing to do with the measured one:
/// a thread of ordinary priority sleeps for a millisecond again and again, and records how late it
/// runs.
///
/// Threads: its creator.
class host_probe {
 public:
  host_probe() = default;
  host_probe(const host_probe&) = delete;
  host_probe& operator=(const host_probe&) = delete;

  /// Stops and returns the delays in nanoseconds.
  sample& stop() {
    probing_.request_stop();
    if (probing_.joinable()) probing_.join();
    return late_;
  }

 private:
  void probe(const std::stop_token& stop) {
    using clock = std::chrono::steady_clock;
    const sched_param ordinary{};
    (void)::sched_setscheduler(0, SCHED_OTHER, &ordinary);  // the creator may be a real-time thread
    do {
      const auto due = clock::now() + std::chrono::milliseconds(1);
      std::this_thread::sleep_until(due);
      late_.add(std::chrono::duration<double, std::nano>(clock::now() - due).count());
    } while (!stop.stop_requested());
  }

  sample late_;
  std::jthread probing_{[this](const std::stop_token& stop) { probe(stop); }};
};

/// Reports the delays of a probe that ran during `work`.
template <class Work>
void report_responsiveness(trial& to, Work&& work) {
  host_probe probe;
  work();
  sample& late = probe.stop();
  to.report("host_late_p50", "ns", late.percentile(0.5));
  to.report("host_late_p99", "ns", late.percentile(0.99));
}

}  // namespace troupe::lab
