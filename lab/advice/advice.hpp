// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/frame/host.hpp"

namespace troupe::lab {

/// One setting with one value, against the default.
struct candidate_value {
  std::uint64_t value = 0;
  std::vector<double> gains =
      {};  ///< of each round: its rate by the default's, the mean of all kinds of work
  double median_gain = 1;
  double median_cpu = 1;   ///< CPU time by the default's, in the same way
  unsigned better_in = 0;  ///< rounds with a gain
};

struct setting_advice {
  std::string name;
  std::uint64_t usual = 0;
  std::uint64_t recommended = 0;
  std::vector<candidate_value> tried = {};
  std::string reason = {};
};

/// A gain that is no noise: 3 % by the median, and all rounds but one of five or more show one.
[[nodiscard]] bool is_gain(const candidate_value& of);

/// What is recommended, and why, from what was tried: of the gains that come within a tenth of the best one that
/// which takes the least CPU time; the default where nothing is a gain.
void conclude(setting_advice& of);

/// What troupe::read_settings() takes: what is recommended, each with its reason; a default only as a comment.
[[nodiscard]] std::string settings_file(const host& where, const std::vector<setting_advice>& all);

struct advice_options {
  unsigned rounds = 9;
  bool smoke = false;
  std::string json = {};   ///< as run_options::json
  std::string write = {};  ///< a file for troupe::read_settings(); empty for none
  std::chrono::seconds limit{120};
};

/// `troupe lab advise`. Returns what the program exits with.
int advise(const advice_options& options);

}  // namespace troupe::lab
