// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/sim/choices.hpp>
#include <troupe/sim/explore.hpp>
#include <troupe/sim/simulation.hpp>

namespace troupe::sim {

/// How a run ended.
struct outcome {
  bool failed = false;
  std::string kind;  // equal for all runs that fail in the same way
  std::string why;
  std::string log;
  std::string trace;
};

/// The kind of runs that do not finish in time.
inline constexpr std::string_view too_long =
    "exceeded the time limit of a run (exploration::longest_run)";

/// A forked copy of this process that executes runs one at a time, and its output so far.
///
/// Threads: one thread.
/// Errors:  throws std::system_error if the pipe or the process cannot be created.
class worker_process {
 public:
  /// The runs to execute: `log`, or every `step`-th of how->seeds, beginning with the one at
  /// `from`.
  struct order {
    const exploration* how;
    const std::function<void(simulation&)>* run;
    const choice_log* log = nullptr;
    std::uint64_t from = 0;
    std::uint64_t step = 1;
  };

  explicit worker_process(const order& what);
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;
  ~worker_process();

  /// Waits until processes have output to read or have terminated, and returns these. If the result
  /// is empty, call again. A process that has been silent for too long is killed: it has not
  /// reacted to its alarm.
  [[nodiscard]] static std::vector<worker_process*> wait(std::span<worker_process* const> all);

  /// Reads available output. Returns false if the process has terminated and all output was read.
  [[nodiscard]] bool read();

  struct report {
    std::uint64_t runs = 0;
    std::uint64_t seed = 0;  // of the last run
    outcome last;
  };
  [[nodiscard]] report heard() const;

 private:
  using clock = std::chrono::steady_clock;  // the real clock, not that of a simulation

  void hear();
  void end_as_too_long();
  static void work(const order& what, int to);

  pid_t process_ = -1;
  int from_ = -1;
  int status_ = 0;
  const std::chrono::seconds longest_run_;
  clock::time_point ends_at_;
  bool was_too_long_ = false;
  std::string said_;
};

}  // namespace troupe::sim
