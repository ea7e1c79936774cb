// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::http::detail {

/// The segments of a path, separated where the client wrote a slash. An escaped slash, %2F, belongs
/// to its segment.
///
/// Threads: a plain value.
/// Cost:    linear in the segments that are read; no memory.
class path_segments {
 public:
  /// A segment, as a part of the decoded path.
  struct segment {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };

  /// `decoded` begins with a slash, or is empty and has no segments. `sent`: the same path as it
  /// was sent, with valid escapes; may be empty if it has no escapes.
  path_segments(std::string_view decoded, std::string_view sent) noexcept
      : decoded_(decoded), sent_(sent) {}

  /// Returns false after the last segment.
  bool next(segment& one) noexcept {
    if (at_ >= decoded_.size()) return false;
    const std::size_t begin = at_ + 1;
    at_ = sent_.empty() ? std::min(decoded_.find('/', begin), decoded_.size())
                        : begin + decoded_size_of_next();
    one = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_ - begin)};
    return true;
  }

 private:
  std::size_t decoded_size_of_next() noexcept {
    const std::size_t begin = sent_at_ + 1;
    sent_at_ = std::min(sent_.find('/', begin), sent_.size());
    const std::string_view one = sent_.substr(begin, sent_at_ - begin);
    return one.size() - 2 * static_cast<std::size_t>(std::count(one.begin(), one.end(), '%'));
  }

  std::string_view decoded_;
  std::string_view sent_;
  // The slash before the next segment; beyond the last segment, the size.
  std::size_t at_ = 0;
  std::size_t sent_at_ = 0;
};

}  // namespace troupe::http::detail
