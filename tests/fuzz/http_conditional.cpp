// SPDX-License-Identifier: Apache-2.0

// Whether a client already has the content, or expects other content, according to its headers
// If-None-Match and If-Modified-Since, If-Match and If-Unmodified-Since. An input has a line for
// tags and one for a date. If the first character of a line is a minus, that header is missing.

#include "http/conditional.hpp"

#include "fuzz.hpp"
#include "http/text.hpp"
#include "requests.hpp"

namespace {

using namespace troupe::fuzz;
using namespace troupe::http::detail;

const date changed{std::chrono::seconds{784'111'777}};  // Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::string_view etag = "\"5-2ebc8f61\"";

bool unchanged(const headers& sent, std::optional<date> modified) {
  return condition_of(*make_request("/", sent), etag, modified) == condition::unchanged;
}

void check_tags(std::string_view tags, const headers& sent) {
  const bool has = unchanged(sent, changed);
  require(unchanged({{"If-None-Match", tags}}, std::nullopt) == has, "tags go before dates");
  if (has) {
    require(tags.find(etag) != std::string_view::npos || tags.find('*') != std::string_view::npos,
            "who does not name the tag gets the content");
  }
  for (const char* own : {"\"5-2ebc8f61\"", "W/\"5-2ebc8f61\""}) {
    std::string more = std::string{own} + " ,\t" + std::string{tags};
    require(unchanged({{"if-none-match", more}}, std::nullopt), "the tag may come first");
    more = std::string{tags} + ", " + own;
    require(unchanged({{"IF-NONE-MATCH", more}}, std::nullopt), "the tag may come last");
  }
}

// Content that only an expected version may replace, identified by its tag or its date.
void check_expectation(std::string_view tags, std::string_view since) {
  const auto is = [](const headers& sent, std::optional<date> modified) {
    return condition_of(*make_request("/", sent), etag, modified) == condition::failed;
  };
  const bool failed = is({{"If-Match", tags}}, changed);
  require(is({{"If-Match", tags}, {"If-Unmodified-Since", since}}, changed) == failed,
          "tags go before dates");
  require(failed || tags.find(etag) != std::string_view::npos ||
              tags.find('*') != std::string_view::npos,
          "the tag has to be named");
  require(!is({{"If-Match", tags}, {"If-Match", etag}}, changed), "it may be on another line");
  const auto parsed = parse_http_date(since);
  require(is({{"If-Unmodified-Since", since}}, changed) == (parsed && changed > *parsed),
          "without tags it is by the date");
  require(!is({{"If-Unmodified-Since", since}}, std::nullopt), "what has no date is not too new");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = text_of(data, size);
  // In the form in which the parser of HTTP passes them on.
  const std::string_view tags = trimmed(take_line(rest));
  const std::string_view since = trimmed(take_line(rest));
  check_expectation(tags, since);
  headers sent;
  if (!since.starts_with('-')) sent.emplace_back("If-Modified-Since", since);
  if (!tags.starts_with('-')) {
    sent.emplace_back("If-None-Match", tags);
    check_tags(tags, sent);
    return 0;
  }
  const auto parsed = parse_http_date(since);
  require(unchanged(sent, changed) == (!sent.empty() && parsed && changed <= *parsed),
          "without tags it is by the date");
  require(!unchanged(sent, std::nullopt), "what has no date has changed");
  return 0;
}
