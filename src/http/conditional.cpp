// SPDX-License-Identifier: Apache-2.0

#include "conditional.hpp"

#include "request_access.hpp"
#include "text.hpp"

namespace troupe::http::detail {
namespace {

/// How entity tags are compared (RFC 9110, 8.8.3.2): W/"x" equals "x" weakly, and nothing strongly.
enum class comparison : std::uint8_t { weak, strong };

// The header is a list on one line or several, or "*".
bool lists(const request& asked, std::string_view name, std::string_view etag, comparison how) {
  constexpr std::string_view weak = "W/";
  const auto plain = [&](std::string_view tag) {
    return how == comparison::weak && tag.starts_with(weak) ? tag.substr(weak.size()) : tag;
  };
  const bool may_match = how == comparison::weak || !etag.starts_with(weak);
  bool found = false;
  request_access::for_each_line(asked, name, [&](std::string_view line) {
    for_each_element(line, [&](std::string_view one) {
      found = found || one == "*" || (may_match && plain(one) == plain(etag));
    });
  });
  return found;
}

}  // namespace

condition condition_of(const request& asked, std::string_view etag, std::optional<date> modified) {
  if (asked.has_header("If-Match")) {
    if (!lists(asked, "If-Match", etag, comparison::strong)) return condition::failed;
  } else if (modified) {
    const auto since = parse_http_date(asked.header("If-Unmodified-Since"));
    if (since && *modified > *since) return condition::failed;
  }
  if (asked.has_header("If-None-Match")) {
    return lists(asked, "If-None-Match", etag, comparison::weak) ? condition::unchanged
                                                                 : condition::met;
  }
  if (!modified) return condition::met;
  const auto since = parse_http_date(asked.header("If-Modified-Since"));
  return since && *modified <= *since ? condition::unchanged : condition::met;
}

}  // namespace troupe::http::detail
