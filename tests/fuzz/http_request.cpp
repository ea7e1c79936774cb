// SPDX-License-Identifier: Apache-2.0

// The request as a handler sees it: target, parameters, headers. An input has a line for the
// target, one for the name of a parameter, and one for each header.

#include <optional>
#include <sstream>

#include "fuzz.hpp"
#include "http/target.hpp"
#include "http/text.hpp"
#include "requests.hpp"

namespace {

using namespace troupe::fuzz;
using troupe::http::request;
using troupe::http::detail::parse_target;
using troupe::http::detail::percent_decoded;
using troupe::http::detail::trimmed;

std::optional<std::string> form_decoded(std::string_view text) {
  std::string all{text};
  std::replace(all.begin(), all.end(), '+', ' ');
  return percent_decoded(all);
}

void check_parameter(const request& asked, std::string_view name) {
  // A second implementation. In both, an empty last part has no name: "a&" is one parameter, "a&&b"
  // are three.
  std::istringstream query{std::string{asked.query()}};
  std::optional<std::string> expected;
  for (std::string pair; !expected && std::getline(query, pair, '&');) {
    const std::size_t equals = pair.find('=');
    if (form_decoded(pair.substr(0, equals)) != name) continue;
    expected =
        equals == std::string::npos ? "" : form_decoded(pair.substr(equals + 1)).value_or("");
  }
  require(asked.parameter(name) == expected, "a parameter is the first of its name, decoded");
}

void check_headers(const request& asked, const headers& sent) {
  const bool is_absolute = !asked.target().starts_with('/');
  if (is_absolute) {
    const std::string_view rest = asked.target().substr(asked.target().find("://") + 3);
    require(asked.header("Host") == rest.substr(0, rest.find_first_of("/?")),
            "the host of the absolute form stands in for the header");
  }
  for (const auto& [name, value] : sent) {
    if (is_absolute && lower(name) == "host") continue;
    const auto first = std::find_if(sent.begin(), sent.end(), [&, &n = name](const auto& each) {
      return lower(each.first) == lower(n);
    });
    require(asked.has_header(name), "every header is there");
    require(
        asked.header(lower(name)) == first->second && asked.header(upper(name)) == first->second,
        "a header is the first of its name, in any case");
  }
  require(sent.empty() == !asked.has_header(sent.empty() ? "" : sent.front().first),
          "where no header was sent none is there");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = text_of(data, size);
  const std::string_view target = take_line(rest);
  const std::string_view name = take_line(rest);
  headers sent;
  std::string body;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      body += line;
    } else {
      sent.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
    }
  }

  const auto asked = make_request(target, sent, body);
  const auto parsed = parse_target(target);
  require(asked.has_value() == parsed.has_value(), "a request has a target that can be served");
  if (!asked) return 0;
  require(asked->method() == "GET" && asked->peer() == "peer" && asked->body() == body,
          "method, peer and body are as they were sent");
  require(
      asked->target() == target && asked->path() == parsed->path && asked->query() == parsed->query,
      "target, path and query are as they were sent");
  check_parameter(*asked, name);
  check_headers(*asked, sent);

  const request copy = *asked;
  require(copy.target().data() != asked->target().data() || target.empty(),
          "a copy owns what its views point into");
  check_headers(copy, sent);
  return 0;
}
