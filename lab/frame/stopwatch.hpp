// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <chrono>

#include "lab/frame/trial.hpp"

namespace troupe::lab {

/// Measures a part of a run: wall time, and CPU time and switches of the whole process.
class stopwatch {
 public:
  double wall_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  /// Reports wall_s, cpu_s, switches and preemptions of this part instead of those of the whole
  /// process. It is to be called once.
  void report(trial& to) const {
    const double wall = wall_s();
    const rusage after = used();
    to.report("wall_s", "s", wall);
    to.report("cpu_s", "s", cpu_s(after) - cpu_s(before_));
    to.report("switches", "1", static_cast<double>(after.ru_nvcsw - before_.ru_nvcsw));
    to.report("preemptions", "1", static_cast<double>(after.ru_nivcsw - before_.ru_nivcsw));
  }

 private:
  static rusage used() {
    rusage now{};
    ::getrusage(RUSAGE_SELF, &now);
    return now;
  }

  static double cpu_s(const rusage& u) {
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
  }

  rusage before_ = used();
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace troupe::lab
