// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>

namespace troupe::detail {

/// Divides a long computation into slices, between which its thread yields its core.
///
/// Threads: one.
class slices {
 public:
  explicit slices(std::size_t steps_most = 8'192,
                  std::function<void()> between = std::this_thread::yield)
      : steps_most_(steps_most), between_(std::move(between)) {}

  /// The computation has taken `some` more steps. True: a slice has ended and the next one begins.
  bool took(std::size_t some = 1) {
    steps_ += some;
    longest_ = std::max(longest_, steps_);
    if (steps_ < steps_most_) return false;
    steps_ = 0;
    ++ended_;
    between_();
    return true;
  }

  /// The steps of the longest slice so far.
  [[nodiscard]] std::size_t longest() const noexcept { return longest_; }
  [[nodiscard]] std::size_t ended() const noexcept { return ended_; }

 private:
  const std::size_t steps_most_;
  const std::function<void()> between_;
  std::size_t steps_ = 0;
  std::size_t longest_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace troupe::detail
