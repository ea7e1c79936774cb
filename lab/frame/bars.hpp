// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lab/frame/experiment.hpp"
#include "lab/frame/measuring.hpp"

namespace troupe::lab {

/// The result of checking a bar.
struct judged {
  const bar* of;
  std::optional<double> value;  ///< the median, or the ratio of two medians; nothing: not measured
  std::string unit;             ///< "1" for a ratio

  bool is_met() const { return value && *value <= of->most; }
};

std::vector<judged> judge(const std::vector<bar>& bars, const measurements& found);

/// Prints a table with the measured values and their limits; prints nothing without bars.
void print_bars(std::ostream& out, const std::vector<judged>& all);

/// Returns a list of objects with `bar`, `value` (null: not measured), `most`, `unit` and `met`.
nlohmann::ordered_json json_of(const std::vector<judged>& all);

/// Returns "7 of 8 bars are met. Not met: …": one line, empty without bars.
std::string sentence_of(const std::vector<judged>& all);

}  // namespace troupe::lab
