// SPDX-License-Identifier: Apache-2.0

#include "route_pattern.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

bool is_name(std::string_view text) noexcept {
  const auto is_letter = [](char c) {
    return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_';
  };
  return !text.empty() && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// Refuses paths that the decoded path of a request cannot equal.
void expect_path(std::string_view path) {
  if (!path.starts_with('/')) refuse_route(path, "a path must begin with a slash");
  if (path.find_first_of("?#") != std::string_view::npos) {
    refuse_route(path, "a path must not contain a query or a fragment");
  }
  if (path.find('*') != std::string_view::npos) {
    refuse_route(
        path, "a path must not contain '*': write {name...} at the end, or use files() for files");
  }
  for (std::size_t i = path.find('%'); i != std::string_view::npos && path.size() - i > 2;
       i = path.find('%', i + 1)) {
    if (hex_digit(path[i + 1]) >= 0 && hex_digit(path[i + 2]) >= 0) {
      refuse_route(
          path, "a path is compared with the decoded path of a request: write it without escapes");
    }
  }
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      refuse_route(path, "a path must not contain control characters");
    }
  }
}

route_pattern::segment parse_segment(std::string_view path, std::string_view text) {
  if (text.find_first_of("{}") == std::string_view::npos) {
    return {route_pattern::kind::literal, std::string{text}};
  }
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') {
    refuse_route(path, "\"" + std::string{text} +
                           "\" is only partly a parameter: a parameter is a whole segment, as in "
                           "/accounts/{id}");
  }
  constexpr std::string_view dots = "...";
  std::string_view name = text.substr(1, text.size() - 2);
  const bool is_rest = name.ends_with(dots);
  if (is_rest) name.remove_suffix(dots.size());
  if (!is_name(name)) {
    refuse_route(path, "\"" + std::string{name} +
                           "\" is not a name of a parameter: it consists of letters, digits and "
                           "underscores, and does not begin with a digit");
  }
  return {is_rest ? route_pattern::kind::rest : route_pattern::kind::parameter, std::string{name}};
}

}  // namespace

void refuse_route(std::string_view path, std::string_view why) {
  throw std::invalid_argument("http::server: route \"" + std::string{path} +
                              "\": " + std::string{why});
}

route_pattern route_pattern::parse(std::string text) {
  expect_path(text);
  route_pattern made;
  std::string_view rest = text;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view one = rest.substr(0, rest.find('/'));
    rest.remove_prefix(one.size());
    segment next = parse_segment(text, one);
    if (made.ends_with_rest()) {
      refuse_route(text, "{" + made.segments.back().text +
                             "...} stands for the rest of a path, so it must be at the end");
    }
    if (next.is != kind::literal && made.find(next.text) < made.segments.size()) {
      refuse_route(text, "two parameters have the name \"" + next.text + "\"");
    }
    made.segments.push_back(std::move(next));
  }
  if (made.has_parameters() && made.segments.size() > segments_max) {
    refuse_route(text, "it has " + std::to_string(made.segments.size()) +
                           " segments: a path with parameters has at most " +
                           std::to_string(segments_max));
  }
  made.text = std::move(text);
  return made;
}

route_pattern route_pattern::parse_prefix(std::string text) {
  if (!text.ends_with('/')) text += '/';
  route_pattern made = parse(std::move(text));
  if (made.has_parameters()) {
    refuse_route(made.text, "the prefix of files() must not contain parameters");
  }
  if (made.segments.size() > segments_max) {
    refuse_route(made.text,
                 "the prefix of files() has at most " + std::to_string(segments_max) + " segments");
  }
  made.segments.pop_back();  // the empty one after the last slash
  return made;
}

bool route_pattern::has_parameters() const noexcept {
  return std::any_of(segments.begin(), segments.end(),
                     [](const segment& s) { return s.is != kind::literal; });
}

bool route_pattern::ends_with_rest() const noexcept {
  return !segments.empty() && segments.back().is == kind::rest;
}

std::size_t route_pattern::find(std::string_view name) const noexcept {
  const auto found = std::find_if(segments.begin(), segments.end(), [&](const segment& s) {
    return s.is != kind::literal && s.text == name;
  });
  return static_cast<std::size_t>(found - segments.begin());
}

bool route_pattern::has_names_of(const route_pattern& other) const noexcept {
  return std::equal(
      segments.begin(), segments.end(), other.segments.begin(), other.segments.end(),
      [](const segment& a, const segment& b) { return a.is == b.is && a.text == b.text; });
}

std::string mounted_path(std::string_view prefix, std::string_view path) {
  const route_pattern above = route_pattern::parse(std::string{prefix});
  if (prefix == "/") return std::string{path};
  if (prefix.ends_with('/'))
    refuse_route(prefix, "the prefix of mount() must not end with a slash");
  if (above.ends_with_rest()) {
    refuse_route(prefix, "the prefix of mount() must not end with {" + above.segments.back().text +
                             "...}, below which no route could be reached");
  }
  return path == "/" ? std::string{prefix} : std::string{prefix} + std::string{path};
}

}  // namespace troupe::http::detail
