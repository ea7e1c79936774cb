// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/frame/sizes.hpp"
#include "lab/frame/trial.hpp"

namespace troupe::lab {

struct measurements;

/// One way to do what the experiment measures.
struct variant {
  std::string engine;   ///< to which it belongs: "troupe", "glibc", "moodycamel"
  std::string name;     ///< which one, if the engine has several; otherwise empty
  void (*run)(trial&);  ///< measures once and reports; an exception is a failure of the run
  bool traces = false;  ///< records a timeline like Troupe: see thread_timeline

  [[nodiscard]] bool has_timeline() const { return engine == "troupe" || traces; }
};

/// A published figure. It is shown beside the measured one of the same engine, name and metric, or
/// otherwise in a row of its own.
struct published {
  std::string engine;
  std::string name;
  std::string metric;
  double value;
  std::string source;  ///< heads the column: "GCC 4.9, 2 threads"
  double high = 0;     ///< the upper end, if a range was published; otherwise 0

  [[nodiscard]] bool is_range() const { return high != 0; }
};

/// A form of a workload that other engines run too.
struct peer_form {
  std::string name;         ///< the variant's name
  std::uint64_t limit = 0;  ///< the limit of messages in a mailbox; 0: no limit
};

/// The facts about an engine before the measurements.
struct presence {
  std::string absent = {};   ///< why it is left out; empty: it takes part
  std::string version = {};  ///< its version and settings; empty: unknown
};

/// A median.
struct measured_by {
  std::string_view engine;  ///< empty: none
  std::string_view variant = {};
  std::string_view metric = {};
};

/// An upper limit of a median: a number, or a multiple of another median.
struct bar {
  std::string_view what;  ///< "a broadcast to all"
  measured_by of;
  double most;
  measured_by times = {};
};

/// The input of an experiment, if it can come from a file: `--<name> FILE`. `--write FILE` writes
/// the input that would be generated, and measures nothing.
struct input_file {
  std::string_view name;
  std::string_view help;
  /// Throws std::runtime_error with the file, the line and the error.
  void (*check)(const std::string& file);
  /// Throws std::runtime_error if the file cannot be written.
  void (*write)(const sizes& chosen, const std::string& file);
};

/// An experiment, which `troupe lab NAME` runs. NAME is the name of the file and of the function:
/// lab/experiments/<name>.cpp defines troupe::lab::experiments::<name>().
struct experiment {
  std::string_view asks;                  ///< the question, as one sentence
  std::vector<size_option> options = {};  ///< its sizes
  std::vector<variant> variants;
  std::vector<published> figures = {};
  std::vector<peer_form> peers = {};  ///< not empty: a workload of lab/engines
  std::optional<input_file> input = {};
  /// The engine with which the others are compared: a column has the ratios. Empty: none.
  std::string_view against = {};
  /// Troupe is compared with other C++ programs. Unless all have the same flags and are optimised,
  /// it only runs with --smoke.
  bool compares_programs = false;
  std::vector<bar> bars = {};  ///< upper limits of the results
  /// Is called for each engine before the measurements. It builds missing programs if permitted.
  presence (*look_for)(std::string_view engine, bool may_build) = nullptr;
  /// Returns the answer as one sentence, from the measurements; empty if they do not suffice for
  /// one.
  std::string (*answer)(const measurements& found) = nullptr;
  std::string_view means = {};  ///< the conclusion for a user, on any host: one or two sentences
};

}  // namespace troupe::lab
