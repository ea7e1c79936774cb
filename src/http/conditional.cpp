// SPDX-License-Identifier: Apache-2.0

#include "conditional.hpp"

#include <algorithm>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

// The tags are compared weakly: W/"x" is "x" in the eyes of GET.
bool lists(std::string_view tags, std::string_view etag) {
  if (trimmed(tags) == "*") return true;
  while (!tags.empty()) {
    std::string_view one = tags.substr(0, tags.find(','));
    tags.remove_prefix(std::min(tags.size(), one.size() + 1));
    one = trimmed(one);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag) return true;
  }
  return false;
}

}  // namespace

bool is_unchanged(const request& asked, std::string_view etag, std::optional<date> modified) {
  if (asked.has_header("If-None-Match")) return lists(asked.header("If-None-Match"), etag);
  if (!modified) return false;
  const auto since = parse_http_date(asked.header("If-Modified-Since"));
  return since && *modified <= *since;
}

}  // namespace troupe::http::detail
