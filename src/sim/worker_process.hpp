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
  std::string kind;  // what is the same in all that fail in the same way
  std::string why;
  std::string log;
  std::string trace;
};

/// The kind of those that do not end in time.
inline constexpr std::string_view too_long = "lasted for too long";

/// A copy of this process that does some runs, one after the other, and what it has said so far.
///
/// Threads: one.
/// Errors:  throws std::system_error if there is no pipe, or no process.
class worker_process {
 public:
  /// Its runs: `log`, or each `step`-th of how->seeds, from the one at `from` on.
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

  /// Waits until something is to be read from some of them, or they have ended, and returns these; none: look again.
  /// One that has not been heard of for too long is ended first: it is deaf to its alarm.
  [[nodiscard]] static std::vector<worker_process*> wait(std::span<worker_process* const> all);

  /// Reads what there is; false: that was all, and it has ended.
  [[nodiscard]] bool read();

  struct report {
    std::uint64_t runs = 0;
    std::uint64_t seed = 0;  // of the last one
    outcome last;
  };
  [[nodiscard]] report heard() const;

 private:
  using clock = std::chrono::steady_clock;  // not a simulation's

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
