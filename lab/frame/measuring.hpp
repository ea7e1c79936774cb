// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/frame/experiment.hpp"
#include "lab/frame/progress.hpp"

namespace troupe::lab {

/// A program that measures once and prints `METRIC UNIT VALUE`, a line for each figure.
struct subject {
  std::string workload;  ///< empty if there is only one
  std::string engine;
  std::string variant;
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< added to the caller's
  bool has_timeline = false;                                          ///< see variant
};

/// All values of one metric of one subject.
struct series {
  std::string workload;
  std::string engine;
  std::string variant;
  std::string metric;
  std::string unit;
  std::vector<double> values;
};

struct measurements {
  std::vector<series> all;              ///< in the order of subjects, then of metrics
  std::vector<std::string> failures;    ///< which subject failed, and how
  bool stopped = false;                 ///< before everything was measured
  std::vector<std::string> notes = {};  ///< the subject and the text, without repetitions

  /// Returns the median of one metric; 0 if it was not measured.
  [[nodiscard]] double median_of(std::string_view engine, std::string_view variant,
                                 std::string_view metric) const;
};

/// The operating system's figures of a whole run, in addition to those that the run reports.
inline const std::vector<std::string> process_metrics = {"cpu_s", "peak_rss", "switches",
                                                         "preemptions"};

/// Runs every subject once in each round, so that other load on the host affects all of them. A
/// failed run is counted, and the others continue. When `stop` is readable, the measurement ends,
/// and the running program is killed.
measurements measure(const std::vector<subject>& subjects, unsigned rounds,
                     std::chrono::seconds limit, progress& shown, int stop = -1);

/// Returns the variants of an experiment as subjects: this program again, with a hidden command.
std::vector<subject> subjects_of(std::string_view name, const experiment& what, const sizes& chosen,
                                 const std::string& input = {});

/// The counterpart of subjects_of(): the hidden command.
inline constexpr std::string_view run_variant_command = "lab-run-variant";
int run_variant(const std::vector<std::string>& arguments);

}  // namespace troupe::lab
