// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/scheduler/timeline.hpp>

namespace troupe::detail {

/// Sums up the time spent, by actor type and message type, and by the activity of the threads.
/// Short waits count as parked.
///
/// Threads: one at a time.
class time_profile {
 public:
  explicit time_profile(time_point zero) noexcept : zero_(zero) {}

  /// Adds a slice. Kinds beyond the first thousand are counted together. Throws std::bad_alloc.
  void add(const timeline_slice& slice);

  /// Returns a table for people to read, hottest first. Throws std::bad_alloc.
  [[nodiscard]] std::string text(time_point now) const;

 private:
  struct row {
    duration running{};
    duration replaced{};
    [[nodiscard]] duration time() const noexcept { return running + replaced; }
    std::uint64_t slices = 0;
  };
  static constexpr std::size_t rows_max = 1000;

  using key = std::pair<std::string_view, std::string_view>;
  row& row_of(const timeline_label& label);

  const time_point zero_;
  std::map<key, row> rows_;
  row others_;
  std::array<duration, timeline_slice::kinds> all_{};
};

}  // namespace troupe::detail
