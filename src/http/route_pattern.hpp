// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::http::detail {

/// Throws std::invalid_argument that names the path of a route.
[[noreturn]] void refuse_route(std::string_view path, std::string_view why);

/// The path of a route: "/accounts/{id}/files/{rest...}".
///
/// Threads: a plain value.
struct route_pattern {
  enum class kind : std::uint8_t {
    literal,    // equal to a segment
    parameter,  // {name}: one segment that is not empty
    rest,       // {name...}: all further segments, at least one, which may be empty
  };
  struct segment {
    kind is = kind::literal;
    std::string text;  // the literal, decoded; or the name
  };

  /// Bounds the work for one request: longer patterns are refused.
  static constexpr std::size_t segments_max = 32;

  std::string text;
  std::vector<segment> segments;

  /// Errors: std::invalid_argument that says what is wrong.
  [[nodiscard]] static route_pattern parse(std::string text);
  /// The pattern of a path that is served with everything below it. It ends with a slash.
  ///
  /// Errors: as above, and for a parameter.
  [[nodiscard]] static route_pattern parse_prefix(std::string text);

  [[nodiscard]] bool has_parameters() const noexcept;
  [[nodiscard]] bool ends_with_rest() const noexcept;
  /// The index of the segment with that name, or the number of segments.
  [[nodiscard]] std::size_t find(std::string_view name) const noexcept;
  /// The same names, in the same order.
  [[nodiscard]] bool has_names_of(const route_pattern& other) const noexcept;
};

/// The path of a route of a set that is mounted below `prefix`. The route "/" gets the prefix
/// itself.
///
/// Errors: std::invalid_argument for a prefix that does not begin with a slash, that ends with one
///         and is not "/", or that ends with {name...}.
[[nodiscard]] std::string mounted_path(std::string_view prefix, std::string_view path);

}  // namespace troupe::http::detail
