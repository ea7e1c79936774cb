// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <troupe/sim/simulation.hpp>

namespace troupe::sim {

/// The options of explore().
struct exploration {
  std::uint64_t first_seed = 0;
  std::uint64_t seeds = 1'000;
  unsigned processes = 0;                // that run at the same time; 0: one per core
  std::chrono::seconds longest_run{10};  // in real time; a longer run has failed. 0: no limit
  std::size_t shrinks = 300;             // runs that try to simplify a failed run; 0: none
  simulation_options options = {};
};

/// The failed run with the lowest known seed.
struct failed_run {
  std::uint64_t seed = 0;
  std::string why = {};             // the exception, or how its process ended
  choice_log log = {};              // of the simplest run found that fails in the same way
  std::string log_text = {};        // the log as text, with the name of each choice
  std::size_t chosen = 0;           // the number of its choices that are not 0
  std::size_t chosen_at_first = 0;  // the same for the original run of the seed
  std::string trace = {};           // of the simplest run
  std::string log_file = {};        // the path of the log; empty if it was not written
};

struct explored {
  std::uint64_t runs = 0;
  std::optional<failed_run> failure;  // empty: no run failed

  /// Returns true if no run failed.
  explicit operator bool() const noexcept { return !failure; }
  /// Returns the report for a test to print: the seed, the reason, the trace, and how to reproduce
  /// the run.
  [[nodiscard]] std::string text() const;
};

/// Calls `run` once with each seed, in separate processes, until a run fails: it throws, ends its
/// process, or exceeds the time limit. explore() then looks for a simpler run that fails in the
/// same way, by setting choices of the failed run's log to 0: first all choices after some point,
/// then smaller and smaller ranges of those that remain. A run that exceeds the time limit is not
/// simplified. A run that ends its process without a signal, or has corrupted too much memory,
/// leaves no log; then only its seed is reported.
///
///   const auto all = sim::explore({.seeds = 10'000}, [](sim::simulation& sim) {
///     troupe::system system;
///     …
///   });
///   EXPECT_TRUE(all) << all.text();
///
/// `run` need not check for a broken invariant at its end: explore() calls check() after it.
///
/// With TROUPE_SIM_SEED or TROUPE_SIM_LOG in the environment, only that run takes place, in this
/// process, and its exceptions leave this function, which helps in a debugger. The log is written
/// to the folder TROUPE_SIM_LOGS, or else to the folder for temporary files.
///
/// Threads: the process must have no other threads during the call, because it forks.
/// Errors:  std::system_error if a process or a pipe cannot be created; std::logic_error within a
///          simulation.
[[nodiscard]] explored explore(const exploration& how, const std::function<void(simulation&)>& run);

}  // namespace troupe::sim
