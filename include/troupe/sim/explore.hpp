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

/// What explore() tries.
struct exploration {
  std::uint64_t first_seed = 0;
  std::uint64_t seeds = 1'000;
  unsigned processes = 0;                // at once; 0: one for each core
  std::chrono::seconds longest_run{10};  // of the real clock; a longer one has failed. 0: no limit
  std::size_t shrinks = 300;  // runs that are tried to find a simpler one that fails; 0: none
  simulation_options options = {};
};

/// The run that failed, of those that did the one with the least seed that is known.
struct failed_run {
  std::uint64_t seed = 0;
  std::string why = {};             // what it threw, or how its process ended
  choice_log log = {};              // of the simplest run that was found to fail in the same way
  std::string log_text = {};        // the same, and what each choice was of
  std::size_t chosen = 0;           // how many of its choices are not the plainest
  std::size_t chosen_at_first = 0;  // the same of the run that the seed makes
  std::string trace = {};           // of the simplest
  std::string log_file =
      {};  // where the log is; empty if it could not be written, or there is none
};

struct explored {
  std::uint64_t runs = 0;
  std::optional<failed_run> failure;  // none: all went well

  /// True if none has failed.
  explicit operator bool() const noexcept { return !failure; }
  /// What a test prints: the seed, why, the trace, and how to have that run again.
  [[nodiscard]] std::string text() const;
};

/// Does `run` once with each of so many seeds, in processes of their own, and stops when one fails: it throws, ends
/// its process, or lasts for too long. Then it looks for a simpler run that fails in the same way, by making
/// choices of its log the plainest: later, fewer, and fewer of those that are left. One that lasts for too long
/// is not made simpler; one that ends its process without a signal, or has destroyed too much, leaves no log: its seed is
/// told.
///
///   const auto all = sim::explore({.seeds = 10'000}, [](sim::simulation& sim) {
///     troupe::system system;
///     …
///   });
///   EXPECT_TRUE(all) << all.text();
///
/// A broken invariant need not be asked for: check() is called behind `run`.
///
/// With TROUPE_SIM_SEED or TROUPE_SIM_LOG in the environment there is that one run, in this process, and what it
/// throws leaves this function: for a debugger. The log is written to TROUPE_SIM_LOGS, or else to the
/// folder for temporary files.
///
/// Threads: the process has no other threads at that time: it is copied as it is.
/// Errors:  std::system_error if there can be no process or pipe; std::logic_error within a simulation.
[[nodiscard]] explored explore(const exploration& how, const std::function<void(simulation&)>& run);

}  // namespace troupe::sim
