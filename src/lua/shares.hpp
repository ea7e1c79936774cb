// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace troupe::lua::detail {

/// How much of a limit that applications have together is used, and by which of them: one alone
/// cannot have all of it.
///
/// Threads:   with the mutex of who has it.
/// Invariant: of those that take() has let in, the sum is not more than the limit, and no
///            application has more than its part.
class shares {
 public:
  /// `percent`: of the limit, for one application; one at least.
  shares(std::size_t most, unsigned percent) noexcept
      : most_(most),
        each_max_(std::max<std::size_t>(most / 100 * percent + most % 100 * percent / 100, 1)) {}

  /// False, and nothing changes, if that would be too much.
  [[nodiscard]] bool take(std::string_view application, std::size_t amount) {
    if (amount > most_ - std::min(most_, used_)) return false;
    const auto found = of_.find(application);
    const std::size_t its = found == of_.end() ? 0 : found->second;
    if (amount > each_max_ - std::min(each_max_, its)) return false;
    add(application, amount);
    return true;
  }
  /// The same of what comes back, and is let in in any case.
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
  std::map<std::string, std::size_t, std::less<>> of_;  // none has nothing
};

}  // namespace troupe::lua::detail
