// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/frame/host.hpp"

namespace troupe::lab {

/// One value of a setting, compared with the default.
struct candidate_value {
  std::uint64_t value = 0;
  std::vector<double> gains =
      {};  ///< by round: its rate divided by the default's, the mean of all kinds of work
  double median_gain = 1;
  double median_cpu = 1;   ///< CPU time divided by the default's, in the same way
  unsigned better_in = 0;  ///< number of rounds with a gain
};

struct setting_advice {
  std::string name;
  std::uint64_t usual = 0;
  std::uint64_t recommended = 0;
  std::vector<candidate_value> tried = {};
  std::string reason = {};
};

/// Whether a gain exceeds noise: it is at least 3 % by the median, and at most one of at least five
/// rounds shows no gain.
[[nodiscard]] bool is_gain(const candidate_value& of);

/// Determines the recommended value and the reason. Among the gains within a tenth of the best one,
/// that is the value with the least CPU time. If nothing is a gain, it is the default.
void conclude(setting_advice& of);

/// Returns a file for troupe::read_settings() with the recommended values, each with its reason.
/// Defaults are only comments.
[[nodiscard]] std::string settings_file(const host& where, const std::vector<setting_advice>& all);

struct advice_options {
  unsigned rounds = 9;
  bool smoke = false;
  std::string json = {};   ///< as run_options::json
  std::string write = {};  ///< a file for troupe::read_settings(); empty for none
  std::chrono::seconds limit{120};
};

/// `troupe lab advise`. Returns the exit status of the program.
int advise(const advice_options& options);

}  // namespace troupe::lab
