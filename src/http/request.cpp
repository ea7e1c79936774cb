// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/request.hpp>

#include <algorithm>
#include <stdexcept>

#include <troupe/http/problem.hpp>

#include "cookie.hpp"
#include "path_segments.hpp"
#include "request_access.hpp"
#include "route_pattern.hpp"
#include "target.hpp"
#include "text.hpp"

namespace troupe::http {

namespace {

std::optional<std::string> form_decoded(std::string_view part) {
  std::string text{part};
  std::replace(text.begin(), text.end(), '+', ' ');  // as forms encode it
  return detail::percent_decoded(text);
}

// The value of the first query parameter of this name, still encoded.
std::optional<std::string_view> encoded_parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (form_decoded(pair.substr(0, equals)) == name) {
      return pair.substr(std::min(equals + 1, pair.size()));
    }
  }
  return std::nullopt;
}

// For the text of an error: in quotes, cut to a bound, and with escapes for all bytes that are not
// printable ASCII, so that nothing in it can mislead a terminal or a log.
std::string shown(std::string_view text) {
  constexpr std::size_t bytes_max = 64;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text.substr(0, bytes_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      result += c;
    } else {
      result.append("\\x").append(1, digits[byte / 16]).append(1, digits[byte % 16]);
    }
  }
  result += text.size() > bytes_max ? "\"..." : "\"";
  return result;
}

}  // namespace

std::optional<std::string> request::parameter(std::string_view name) const {
  const auto encoded = encoded_parameter(query(), name);
  if (!encoded) return std::nullopt;
  return form_decoded(*encoded).value_or("");
}

std::optional<std::string> request::query_parameter(std::string_view name) const {
  const auto encoded = encoded_parameter(query(), name);
  if (!encoded) return std::nullopt;
  std::optional<std::string> text = form_decoded(*encoded);
  if (!text) refuse("query", name, *encoded, "a text with valid escapes, as in a%20b");
  return text;
}

// The segments of the path are found again, so that a request needs no memory for parameters.
std::string_view request::path_parameter(std::string_view name) const {
  if (!pattern_) {
    throw std::logic_error("http::request::path(): " + shown(name) +
                           " is unknown, because the route has no parameters");
  }
  const std::size_t at = pattern_->find(name);
  if (at == pattern_->segments.size()) {
    throw std::logic_error("http::request::path(): the route " + shown(pattern_->text) +
                           " has no parameter " + shown(name));
  }
  detail::path_segments all(path(), view(sent_path_));
  detail::path_segments::segment one;
  for (std::size_t i = 0; i <= at; ++i) (void)all.next(one);
  const bool is_rest = pattern_->segments[at].is == detail::route_pattern::kind::rest;
  return path().substr(one.begin, is_rest ? std::string_view::npos : one.size);
}

void request::refuse(std::string_view where, std::string_view name, std::string_view text,
                     std::string_view allowed) {
  std::string detail = "the " + std::string{where} + " parameter " + shown(name) + " is " +
                       shown(text) + ", which is not ";
  detail += allowed.empty() ? "a valid value" : allowed;
  throw request_error(400, std::move(detail));
}

const request::field* request::find(std::string_view name) const noexcept {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const field& f) {
    return detail::equal_ignoring_case(view(f.name), name);
  });
  return found == fields_.end() ? nullptr : &*found;
}

std::string_view request::header(std::string_view name) const noexcept {
  const field* const found = find(name);
  return found == nullptr ? std::string_view{} : view(found->value);
}

bool request::has_header(std::string_view name) const noexcept { return find(name) != nullptr; }

std::optional<std::string_view> request::cookie(std::string_view name) const noexcept {
  std::optional<std::string_view> value;
  detail::request_access::for_each_line(*this, "Cookie", [&](std::string_view line) {
    if (!value) value = detail::find_cookie(line, name);
  });
  return value;
}

namespace detail {

request_access::slice request_access::add(request& of, std::string_view text) {
  const auto begin = static_cast<std::uint32_t>(of.head_.size());
  of.head_ += text;
  return {begin, static_cast<std::uint32_t>(text.size())};
}

void request_access::set_field(request& of, std::string_view name, slice value) {
  bool found = false;
  for (request::field& f : of.fields_) {
    if (!equal_ignoring_case(of.view(f.name), name)) continue;
    f.value = value;
    found = true;
  }
  if (!found) of.fields_.push_back({add(of, name), value});
}

bool request_access::set_path(request& of) {
  const auto where = parse_target(of.target());
  if (!where) return false;
  const auto part = [&](std::string_view text) {
    return slice{of.target_.begin + static_cast<std::uint32_t>(text.data() - of.target().data()),
                 static_cast<std::uint32_t>(text.size())};
  };
  // An empty text may lie elsewhere.
  if (!where->sent_path.empty()) of.sent_path_ = part(where->sent_path);
  if (!where->query.empty()) of.query_ = part(where->query);
  // RFC 9112, 3.2.2: the host of the absolute form replaces that of the header.
  if (!where->authority.empty()) set_field(of, "Host", part(where->authority));
  of.path_ = add(of, where->path);
  return true;
}

void request_access::set_peer(request& of, std::string_view peer, bool secure) {
  of.peer_ = add(of, peer);
  of.secure_ = secure;
}

// Sorted, because a client may send thousands of them.
std::vector<const request::field*> request_access::first_fields(
    const request& of, const std::vector<std::string>* kept) {
  std::vector<const request::field*> those;
  for (const request::field& f : of.fields_) {
    const auto is_name = [&](std::string_view name) {
      return equal_ignoring_case(of.view(f.name), name);
    };
    if (kept == nullptr || std::any_of(kept->begin(), kept->end(), is_name)) those.push_back(&f);
  }
  const auto name = [&](const request::field* f) { return of.view(f->name); };
  std::sort(those.begin(), those.end(), [&](const request::field* a, const request::field* b) {
    if (equal_ignoring_case(name(a), name(b))) return a < b;
    return less_ignoring_case(name(a), name(b));
  });
  const auto end = std::unique(those.begin(), those.end(),
                               [&](const request::field* a, const request::field* b) {
                                 return equal_ignoring_case(name(a), name(b));
                               });
  those.erase(end, those.end());
  std::sort(those.begin(), those.end());  // in their own order
  return those;
}

request request_access::compact(const request& of, const std::vector<std::string>* kept) {
  const std::vector<const request::field*> fields = first_fields(of, kept);
  // Most paths are part of their target as they are.
  const std::size_t at = of.target().find(of.path());
  const bool has_path = at != std::string_view::npos;
  std::size_t bytes = of.method_.size + of.target_.size + of.peer_.size;
  if (!has_path) bytes += of.path_.size;
  for (const request::field* f : fields) bytes += f->name.size + f->value.size;
  request made;
  made.head_.reserve(bytes);
  made.fields_.reserve(fields.size());
  made.method_ = add(made, of.method());
  made.target_ = add(made, of.target());
  const auto part_of_target = [&](slice s) {
    return s.size == 0 ? slice{} : slice{made.target_.begin + s.begin - of.target_.begin, s.size};
  };
  made.query_ = part_of_target(of.query_);
  made.sent_path_ = part_of_target(of.sent_path_);
  made.pattern_ = of.pattern_;
  made.path_ = has_path ? slice{made.target_.begin + static_cast<std::uint32_t>(at), of.path_.size}
                        : add(made, of.path());
  made.peer_ = add(made, of.peer());
  made.secure_ = of.secure_;
  for (const request::field* f : fields) {
    const slice name = add(made, of.view(f->name));
    made.fields_.push_back({name, add(made, of.view(f->value))});
  }
  return made;
}

request request_access::make(std::string_view method, std::string_view target,
                             const std::vector<std::pair<std::string, std::string>>& headers,
                             std::string_view peer, bool secure) {
  request made;
  const slice named = add(made, method);
  set_line(made, named, add(made, target));
  for (const auto& [name, value] : headers) {
    const slice begin = add(made, name);
    add_field(made, begin, add(made, trimmed(value)));
  }
  if (!set_path(made)) return {};
  set_peer(made, peer, secure);
  return made;
}

}  // namespace detail
}  // namespace troupe::http
