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
  std::string workload;  ///< empty where there is only one
  std::string engine;
  std::string variant;
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< beside what is there
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
  std::vector<std::string> failures;    ///< who failed, and how
  bool stopped = false;                 ///< before all was measured
  std::vector<std::string> notes = {};  ///< of whom, and what; the same one once

  /// The median of one metric; 0 if it was not measured.
  [[nodiscard]] double median_of(std::string_view engine, std::string_view variant,
                                 std::string_view metric) const;
};

/// What the operating system says of a whole run, beside what the run itself reports.
inline const std::vector<std::string> process_metrics = {"cpu_s", "peak_rss", "switches",
                                                         "preemptions"};

/// Runs every subject once in each round, so that what else the machine does hits all of them. A run
/// that fails is counted, and the others go on. When `stop` can be read it ends, and kills what runs.
measurements measure(const std::vector<subject>& subjects, unsigned rounds,
                     std::chrono::seconds limit, progress& shown, int stop = -1);

/// The variants of an experiment as subjects: this program again, with a hidden command.
std::vector<subject> subjects_of(std::string_view name, const experiment& what, const sizes& chosen,
                                 const std::string& input = {});

/// The other side of subjects_of(): what the hidden command does.
inline constexpr std::string_view run_variant_command = "lab-run-variant";
int run_variant(const std::vector<std::string>& arguments);

}  // namespace troupe::lab
