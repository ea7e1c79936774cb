// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::server::detail {

/// So many lines in a time, for what may come in floods; what is left out is counted.
///
/// Threads: any.
class line_quota {
 public:
  line_quota(std::uint64_t most, duration within) noexcept : most_(most), within_(within) {}

  /// Whether there may be one more line now; then with how many have been left out since the last one.
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
  mutex mutex_;  // guards what follows
  time_point began_{};
  std::uint64_t taken_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace troupe::server::detail
