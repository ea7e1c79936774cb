// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe::http::detail {

/// "%41b" → "Ab"; nothing if an escape is invalid.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view encoded);

/// Returns true for the host of a URL or of a Host header, with or without a port (RFC 3986,
/// 3.2.2), and for an empty text. User information is not allowed.
[[nodiscard]] bool is_host(std::string_view text) noexcept;

/// A parsed request target.
struct target {
  std::string path;            // decoded
  std::string_view sent_path;  // the same with its escapes; empty if it has no escapes
  std::string_view query;      // encoded; like the other views, a part of the parsed text
  std::string_view authority;  // of the absolute form: host, and port if there is one
};

/// Parses "/path?query" and "http://host/path?query". Returns nothing for anything else, for bytes
/// that are not allowed in a URL, for a fragment, for an invalid escape, and for a path with
/// control characters, because no file and no route has such a name.
[[nodiscard]] std::optional<target> parse_target(std::string_view raw);

}  // namespace troupe::http::detail
