// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/frame/sizes.hpp"

namespace troupe::lab {

/// One figure of one run. The unit has no spaces: "messages/s", "ns", "bytes", "1" for a plain
/// number.
struct figure {
  std::string metric;
  std::string unit;
  double value;
};

/// Begins the note of a run that could not measure.
inline constexpr std::string_view not_measured_mark = "not measured: ";

/// One run of one variant, in a process of its own: provides the sizes and collects the figures.
///
/// Threads: the one that called run().
class trial {
 public:
  explicit trial(sizes chosen, std::string input = {})
      : sizes_(std::move(chosen)), input_(std::move(input)) {}

  std::uint64_t operator[](std::string_view size) const { return sizes_[size]; }

  /// The same for a size that the experiment need not have.
  std::uint64_t get(std::string_view size, std::uint64_t otherwise) const {
    return sizes_.get(size, otherwise);
  }

  /// Returns the file for experiment::input; empty if none was given.
  const std::string& input() const { return input_; }

  void report(std::string metric, std::string unit, double value) {
    figures_.push_back({std::move(metric), std::move(unit), value});
  }

  /// Adds a line that a reader of the figures has to know about this run: for example, what the
  /// kernel did not allow, and how the run continued. One line.
  void note(std::string line) { notes_.push_back(std::move(line)); }

  /// Says why this variant cannot be measured on this host, in addition to or instead of figures.
  /// Without figures the run counts neither as a measurement nor as a failure.
  void not_measured(const std::string& why) { note(std::string(not_measured_mark) + why); }

  const std::vector<figure>& figures() const { return figures_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  sizes sizes_;
  std::string input_;
  std::vector<figure> figures_;
  std::vector<std::string> notes_;
};

}  // namespace troupe::lab
