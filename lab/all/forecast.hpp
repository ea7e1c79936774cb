// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace troupe::lab {

/// The duration of one round of an experiment, as last recorded on two virtual cores.
struct kept_cost {
  std::string_view experiment;
  double quick_s;
  double full_s;
};

/// For an experiment without a recorded duration, returns that of an average one.
kept_cost kept_cost_of(std::string_view experiment);

/// Estimates the remaining time: the recorded durations, multiplied by the relative speed of this
/// host so far.
class forecast {
 public:
  /// `kept_s` is the sum of the recorded durations of all experiments to run.
  explicit forecast(double kept_s) : left_s_(kept_s) {}

  /// An experiment is done whose recorded duration was `kept_s`.
  void ran(double kept_s, double took_s) {
    left_s_ -= kept_s;
    kept_s_ += kept_s;
    took_s_ += took_s;
  }

  double left_s() const {
    return left_s_ <= 0 ? 0 : left_s_ * (took_s_ + trust_s) / (kept_s_ + trust_s);
  }

 private:
  // The recorded durations weigh as much as this many seconds of measuring, because the first few
  // runs say little.
  static constexpr double trust_s = 5;

  double left_s_;
  double kept_s_ = 0;
  double took_s_ = 0;
};

/// Returns "about 12 min left", rounded as suits an estimate.
std::string left_text(double seconds);

}  // namespace troupe::lab
