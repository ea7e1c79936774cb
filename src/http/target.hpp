// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe::http::detail {

/// "%41b" → "Ab"; nothing if an escape is broken.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view encoded);

/// A request target, taken apart.
struct target {
  std::string path;        // decoded
  std::string_view query;  // encoded, of the target that was parsed
};

/// Takes "/path?query" and "http://host/path?query". Nothing for what is neither, for a broken
/// escape, and for a path with control characters: no file and no route has such a name.
[[nodiscard]] std::optional<target> parse_target(std::string_view raw);

}  // namespace troupe::http::detail
