// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::server::detail {

/// Limits the number of lines per interval, for events that may come in floods, and counts the
/// lines that it drops.
///
/// Threads: any.
class line_quota {
 public:
  line_quota(std::uint64_t most, duration within) noexcept : most_(most), within_(within) {}

  /// Returns whether one more line may be written now and, if so, how many were dropped since the
  /// last one.
  std::optional<std::uint64_t> take(time_point now) {
    const std::lock_guard lock(mutex_);
    if (now - began_ >= within_) {
      began_ = now;
      taken_ = 0;
    }
    if (taken_ == most_) {
      ++left_out_;
      return std::nullopt;
    }
    ++taken_;
    return std::exchange(left_out_, 0);
  }

 private:
  const std::uint64_t most_;
  const duration within_;
  mutex mutex_;  // guards the members below
  time_point began_{};
  std::uint64_t taken_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace troupe::server::detail
