// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace troupe::lab {

/// What one round of an experiment took when it was last looked up, on two virtual cores.
struct kept_cost {
  std::string_view experiment;
  double quick_s;
  double full_s;
};

/// Of an experiment that nobody has looked up yet it is that of a middling one.
kept_cost kept_cost_of(std::string_view experiment);

/// How long the rest will take: what is kept, times how much slower or faster this machine has been so
/// far.
class forecast {
 public:
  /// What the kept costs of all that is to be done add up to.
  explicit forecast(double kept_s) : left_s_(kept_s) {}

  /// Something is done of which `kept_s` had been kept.
  void ran(double kept_s, double took_s) {
    left_s_ -= kept_s;
    kept_s_ += kept_s;
    took_s_ += took_s;
  }

  double left_s() const {
    return left_s_ <= 0 ? 0 : left_s_ * (took_s_ + trust_s) / (kept_s_ + trust_s);
  }

 private:
  // What is kept counts as much as so many seconds of measuring: the first few runs say little.
  static constexpr double trust_s = 5;

  double left_s_;
  double kept_s_ = 0;
  double took_s_ = 0;
};

/// "about 12 min left", in steps that such a figure deserves.
std::string left_text(double seconds);

}  // namespace troupe::lab
