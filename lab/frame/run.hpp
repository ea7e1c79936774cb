// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lab/frame/catalogue.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/progress.hpp"

namespace troupe::lab {

/// The options of every command of the lab.
struct run_options {
  unsigned repeat = 3;
  bool smoke = false;
  std::string json;                  ///< a file, "-" for stdout, empty for none
  std::vector<std::string> engines;  ///< only these; empty: all
  std::chrono::seconds limit{120};   ///< for one run
  std::string input;                 ///< a file for experiment::input; empty for none
  std::string trace;  ///< a file for the timelines of Troupe's variants; empty for none
  std::string write;  ///< where to write the generated input, instead of measuring
};

/// Returns the experiment's sizes: published or smoke, except for those that were given.
sizes choose_sizes(const experiment& what, bool smoke, const sizes& given);

/// Returns the answer as one sentence; empty if the experiment has none, or the measurements do not
/// suffice.
std::string answer_of(const experiment& what, const measurements& found);

/// Returns the sizes of `all --quick`.
sizes quick_sizes(const experiment& what);

/// Prints one line for each experiment.
void list_experiments();

/// Measures and reports. Returns the exit status of the program: 1 if a run failed.
int run_experiment(const catalogue_entry& which, const sizes& given, const run_options& options);

/// Removes the variants of engines that are left out. Returns the remarks about each engine.
std::vector<std::string> look_who_is_there(const experiment& what, bool may_build,
                                           std::vector<subject>& subjects, progress& shown);

/// Returns the compiler's flags of all C++ programs of a comparison, or that they differ.
std::string note_of_flags();

/// Whether --engine selects it.
bool takes_part(const std::string& engine, const run_options& options);

}  // namespace troupe::lab
