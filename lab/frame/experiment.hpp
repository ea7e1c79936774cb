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

/// One way to do what the experiment asks about.
struct variant {
  std::string engine;   ///< whose: "troupe", "glibc", "moodycamel"
  std::string name;     ///< which, if the engine has several; else empty
  void (*run)(trial&);  ///< measures once and reports; an exception is a failure of the run
};

/// A figure that somebody printed. It stands beside the measured one of the same engine, name and
/// metric, and has a row of its own if nothing like it is measured.
struct published {
  std::string engine;
  std::string name;
  std::string metric;
  double value;
  std::string source;  ///< heads the column: "GCC 4.9, 2 threads"
};

/// A form in which other engines run a workload too.
struct peer_form {
  std::string name;         ///< the variant's name
  std::uint64_t limit = 0;  ///< the most messages in a mailbox; 0: no limit
};

/// What is known of an engine before anything is measured.
struct presence {
  std::string absent = {};   ///< why it takes no part; empty: it does
  std::string version = {};  ///< which it is, and what was chosen; empty: nothing to say
};

/// A median.
struct measured_by {
  std::string_view engine;  ///< empty: none
  std::string_view variant = {};
  std::string_view metric = {};
};

/// What a median should not exceed: a number, or so many times another median.
struct bar {
  std::string_view what;  ///< "a broadcast to all"
  measured_by of;
  double most;
  measured_by times = {};
};

/// What an experiment works on, if it can be taken from a file: `--<name> FILE`. `--write FILE` writes what it
/// would generate, and measures nothing.
struct input_file {
  std::string_view name;
  std::string_view help;
  /// Throws std::runtime_error with the file, the line and what is wrong there.
  void (*check)(const std::string& file);
  /// Throws std::runtime_error if the file cannot be written.
  void (*write)(const sizes& chosen, const std::string& file);
};

/// What `troupe lab NAME` runs. NAME is the file's name and the function's:
/// lab/experiments/<name>.cpp defines troupe::lab::experiments::<name>().
struct experiment {
  std::string_view asks;                  ///< the question, as one sentence
  std::vector<size_option> options = {};  ///< its sizes
  std::vector<variant> variants;
  std::vector<published> figures = {};
  std::vector<peer_form> peers = {};  ///< not empty: a workload of lab/engines
  std::optional<input_file> input = {};
  /// The engine that the others are compared with: a column has the ratios. Empty: none.
  std::string_view against = {};
  std::vector<bar> bars = {};  ///< how much it should be at the most
  /// Asked for each engine before anything is measured. It builds what is missing if it may.
  presence (*look_for)(std::string_view engine, bool may_build) = nullptr;
  /// The answer as one sentence, from what was measured; empty if that is not enough for one.
  std::string (*answer)(const measurements& found) = nullptr;
  std::string_view means = {};  ///< what follows for a user, on any machine: one or two sentences
};

}  // namespace troupe::lab
