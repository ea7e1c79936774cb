// SPDX-License-Identifier: Apache-2.0

// From the target of a request to its route and its parameters. An input has a line for each path
// of a route, where "files " before it stands for files(). An empty line follows, then a line for
// the target.

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <troupe/http/problem.hpp>
#include <troupe/http/response.hpp>

#include "fuzz.hpp"
#include "http/request_access.hpp"
#include "http/router.hpp"
#include "http/target.hpp"
#include "requests.hpp"

namespace {

using namespace troupe::fuzz;
using namespace troupe::http::detail;
using troupe::http::request;
using troupe::http::request_error;
using kind = route_pattern::kind;

constexpr std::size_t patterns_max = 32;

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> all;
  while (!path.empty()) {
    path.remove_prefix(1);
    all.emplace_back(path.substr(0, path.find('/')));
    path.remove_prefix(all.back().size());
  }
  return all;
}

// ── The route: a second implementation looks at each pattern ──────────────────────────────────

struct candidate {
  route_pattern pattern;
  bool is_files = false;

  /// The kinds of the segments: of several that match, the first in alphabetical order is found.
  std::string rank() const {
    std::string all;
    for (const route_pattern::segment& s : pattern.segments) {
      all += static_cast<char>('0' + static_cast<int>(s.is));
    }
    return is_files ? all + '3' : all;
  }
  bool matches(const std::vector<std::string>& path) const {
    std::size_t i = 0;
    for (const route_pattern::segment& s : pattern.segments) {
      if (i == path.size()) return false;
      if (s.is == kind::rest) return true;
      if (s.is == kind::literal ? path[i] != s.text : path[i].empty()) return false;
      ++i;
    }
    return is_files || i == path.size();
  }
  bool has_parameters() const {
    return std::any_of(pattern.segments.begin(), pattern.segments.end(),
                       [](const auto& s) { return s.is != kind::literal; });
  }
};

const candidate* find(const std::vector<candidate>& all, std::string_view path,
                      std::string_view sent) {
  for (const candidate& each : all) {
    if (!each.is_files && !each.has_parameters() && each.pattern.text == path) return &each;
  }
  std::vector<std::string> segments = split(sent.empty() ? path : sent);
  if (!sent.empty()) {
    for (std::string& each : segments) each = percent_decoded(each).value();
  }
  const candidate* best = nullptr;
  for (const candidate& each : all) {
    if (!each.is_files && !each.has_parameters()) continue;
    if (!each.matches(segments)) continue;
    if (best == nullptr || each.rank() < best->rank()) best = &each;
  }
  if (best != nullptr && !best->is_files) return best;
  best = nullptr;
  for (const candidate& each : all) {
    const std::string& prefix = each.pattern.text;
    if (!each.is_files) continue;
    if (!path.starts_with(prefix) && path != prefix.substr(0, prefix.size() - 1)) continue;
    if (best == nullptr || prefix.size() > best->pattern.text.size()) best = &each;
  }
  return best;
}

// ── Parameters ────────────────────────────────────────────────────────────────────────────────

void check_error(const request_error& error) {
  require(error.status() == 400, "a wrong parameter is an error of the client");
  require(error.detail().size() < 600, "an error is short, whatever the value");
  require(std::none_of(error.detail().begin(), error.detail().end(),
                       [](char c) { return is_control(c) || c < 0; }),
          "an error is printable");
  const troupe::http::response shown = error.to_response();
  require(shown.status == 400 && is_utf8(shown.body), "a problem is valid JSON");
}

template <class Integer>
void check_integer(const request& asked, const std::string& name, std::string_view text) {
  // A second implementation: digits, one at a time.
  using limits = std::numeric_limits<Integer>;
  std::string_view digits = text;
  const bool negative = limits::is_signed && digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  bool is_valid = !digits.empty();
  __extension__ unsigned __int128 value = 0;
  for (const char c : digits) {
    is_valid = is_valid && c >= '0' && c <= '9';
    if (!is_valid) break;
    value = value * 10 + static_cast<unsigned>(c - '0');
    const auto most = static_cast<std::uint64_t>(limits::max());
    is_valid = value <= (negative ? most + 1 : most);
  }
  try {
    const auto read = asked.path<Integer>(name);
    require(is_valid, "an integer consists of digits, and is within its range");
    const auto magnitude =
        negative ? 0 - static_cast<std::uint64_t>(read) : static_cast<std::uint64_t>(read);
    require(magnitude == static_cast<std::uint64_t>(value), "an integer has its value");
  } catch (const request_error& error) {
    require(!is_valid, "every integer within the range is read");
    check_error(error);
  }
}

void check_parameter(const request& asked, const std::string& name, std::string_view expected) {
  require(asked.path(name) == expected, "a parameter is its segment, decoded");
  require(asked.path<std::string>(name) == expected, "and its copy is equal");
  const std::string_view all = asked.path();
  const std::string_view part = asked.path(name);
  require(part.data() >= all.data() && part.data() + part.size() <= all.data() + all.size(),
          "a parameter is a part of the path");
  check_integer<std::uint8_t>(asked, name, expected);
  check_integer<std::int16_t>(asked, name, expected);
  check_integer<std::uint32_t>(asked, name, expected);
  check_integer<std::int64_t>(asked, name, expected);
  check_integer<std::uint64_t>(asked, name, expected);
  try {
    require(std::isfinite(asked.path<double>(name)), "a number is finite");
  } catch (const request_error& error) {
    check_error(error);
  }
  try {
    (void)asked.path<bool>(name);
  } catch (const request_error& error) {
    check_error(error);
  }
}

void check_parameters(const request& asked, const route& at, std::string_view sent) {
  const std::vector<std::string> segments = split(sent);
  for (std::size_t i = 0; i < at.pattern.segments.size(); ++i) {
    const route_pattern::segment& one = at.pattern.segments[i];
    if (one.is == kind::literal) continue;
    std::string text = segments[i];
    for (std::size_t k = i + 1; one.is == kind::rest && k < segments.size(); ++k) {
      text += '/' + segments[k];
    }
    check_parameter(asked, one.text, percent_decoded(text).value());
  }
  try {
    (void)asked.path("no such name");
    require(false, "an unknown name is an error");
  } catch (const std::logic_error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = text_of(data, size);
  router routes;
  std::vector<candidate> all;
  for (std::size_t n = 0; n < patterns_max; ++n) {
    std::string_view line = take_line(rest);
    if (line.empty()) break;
    const bool is_files = line.starts_with("files ");
    if (is_files) line.remove_prefix(6);
    const std::vector<troupe::http::route_entry> before = routes.entries();
    try {
      if (is_files) {
        routes.add_files(std::string{line}, "/");
        all.push_back({route_pattern::parse_prefix(std::string{line}), true});
      } else {
        routes.add("GET", std::string{line},
                   [](const request&) { return troupe::http::response{}; });
        all.push_back({route_pattern::parse(std::string{line})});
      }
    } catch (const std::invalid_argument& error) {
      require(std::string_view{error.what()}.find("route \"") != std::string_view::npos,
              "a refusal names the route");
      require(routes.entries() == before, "a refused route changes nothing");
    }
  }
  auto asked = make_request(take_line(rest));
  if (!asked) return 0;
  const std::string_view sent = request_access::sent_path(*asked);
  const router::match found = routes.find(asked->path(), sent);
  const candidate* const expected = find(all, asked->path(), sent);
  require((found.at == nullptr && found.files == nullptr) == (expected == nullptr),
          "a route is found if there is one");
  if (expected == nullptr) return 0;
  require((found.files != nullptr) == expected->is_files, "a route comes before files, or after");
  if (found.files != nullptr) {
    require(found.files->prefix == expected->pattern.text, "the longest prefix is found");
    return 0;
  }
  require(found.at->pattern.text == expected->pattern.text, "the most specific route is found");
  request_access::set_pattern(*asked, found.at->parameters);
  if (found.at->parameters) {
    check_parameters(*asked, *found.at, sent.empty() ? asked->path() : sent);
    const request compact = request_access::compact(*asked, nullptr);
    check_parameters(compact, *found.at, sent.empty() ? compact.path() : sent);
  }
  return 0;
}
