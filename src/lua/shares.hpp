// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace troupe::lua::detail {

/// Tracks how much of a common limit is used, and by which application. No application can use all
/// of it alone.
///
/// Threads:   under the mutex of the owner.
/// Invariant: the sum of the amounts that take() admitted does not exceed the limit, and no
///            application exceeds its part.
class shares {
 public:
  /// `percent` is the part of the limit for one application; it is at least one.
  shares(std::size_t most, unsigned percent) noexcept
      : most_(most),
        each_max_(std::max<std::size_t>(most / 100 * percent + most % 100 * percent / 100, 1)) {}

  /// Returns false and changes nothing if a limit would be exceeded.
  [[nodiscard]] bool take(std::string_view application, std::size_t amount) {
    if (amount > most_ - std::min(most_, used_)) return false;
    const auto found = of_.find(application);
    const std::size_t its = found == of_.end() ? 0 : found->second;
    if (amount > each_max_ - std::min(each_max_, its)) return false;
    add(application, amount);
    return true;
  }
  /// Adds an amount that is put back, which is always admitted.
  void add(std::string_view application, std::size_t amount) {
    const auto found = of_.find(application);
    (found == of_.end() ? of_.emplace(application, 0).first : found)->second += amount;
    used_ += amount;
  }
  void give_back(std::string_view application, std::size_t amount) noexcept {
    const auto found = of_.find(application);
    if (found == of_.end()) return;
    used_ -= amount;
    if ((found->second -= amount) == 0) of_.erase(found);
  }

  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  const std::size_t most_;
  const std::size_t each_max_;
  std::size_t used_ = 0;
  std::map<std::string, std::size_t, std::less<>> of_;  // an absent application uses nothing
};

}  // namespace troupe::lua::detail
