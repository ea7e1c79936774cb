// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "route_pattern.hpp"
#include "text_index.hpp"

namespace troupe::http::detail {

/// Finds the pattern of a path. A node for each segment; at each node a literal comes before a
/// parameter, this before {name...}, and this before files. If the search fails below one of them,
/// it continues with the next one.
///
/// Threads: one thread fills it; then any, concurrently.
/// Cost:    match() visits a node at most once, and reads at most route_pattern::segments_max + 1
///          segments of the path. It visits two nodes at a level only where both a literal and a
///          parameter match. It needs no memory.
class route_tree {
 public:
  static constexpr std::uint32_t none = text_index::none;

  struct found {
    std::uint32_t value = none;
    bool is_files = false;
    std::uint32_t visited = 0;  // nodes
  };

  /// The value of the pattern that matches the same paths, whatever the names of its parameters.
  [[nodiscard]] std::uint32_t find(const route_pattern& pattern) const noexcept;
  /// The value of the files below the path of that pattern, without its {name...}.
  [[nodiscard]] std::uint32_t find_files(const route_pattern& pattern) const noexcept;
  /// The value of the pattern that continues this prefix with {name...}.
  [[nodiscard]] std::uint32_t find_rest(const route_pattern& prefix) const noexcept;

  /// find() has returned none.
  void insert(const route_pattern& pattern, std::uint32_t value);
  /// Everything below a prefix without parameters. find_files() has returned none.
  void insert_files(const route_pattern& prefix, std::uint32_t value);

  /// `sent`: the path as it was sent; empty if it has no escapes.
  [[nodiscard]] found match(std::string_view path, std::string_view sent) const noexcept;
  /// The files with the longest prefix of a path in which %2F is a slash like any other.
  [[nodiscard]] std::uint32_t match_files(std::string_view path) const noexcept;

 private:
  using segments = std::span<const route_pattern::segment>;

  struct node {
    text_index literals;
    std::uint32_t parameter = none;  // a node
    // Values:
    std::uint32_t here = none;
    std::uint32_t rest = none;
    std::uint32_t files = none;
  };
  struct cut;
  struct walk;

  [[nodiscard]] const node* reach(segments those) const noexcept;
  node& make(segments those);

  std::vector<node> nodes_;  // the first is the root
  std::size_t depth_ = 0;    // of the deepest node
};

}  // namespace troupe::http::detail
