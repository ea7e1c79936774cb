// SPDX-License-Identifier: Apache-2.0

#include "cookie.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <troupe/http/cookie.hpp>

#include "text.hpp"

namespace troupe::http {
namespace detail {
namespace {

// RFC 6265, 4.1.1: cookie-octet.
bool can_stand_in_value(char c) noexcept {
  constexpr std::string_view refused = "\",;\\";
  return c > 0x20 && c < 0x7f && refused.find(c) == std::string_view::npos;
}

bool is_sent_value(std::string_view text) noexcept {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return is_cookie_value(text);
}

}  // namespace

bool is_cookie_value(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), can_stand_in_value);
}

std::optional<std::string_view> find_cookie(std::string_view line, std::string_view name) noexcept {
  while (!line.empty()) {
    std::string_view pair = line.substr(0, line.find(';'));
    line.remove_prefix(std::min(line.size(), pair.size() + 1));
    pair = trimmed(pair);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
    const std::string_view value = pair.substr(equals + 1);
    if (is_token(name) && is_sent_value(value)) return value;
  }
  return std::nullopt;
}

}  // namespace detail

namespace {

[[noreturn]] void refuse(const set_cookie& one, const std::string& why) {
  throw std::invalid_argument("http::set_cookie \"" + one.name + "\": " + why);
}

bool is_domain(std::string_view text) noexcept {
  const auto is_letter_or_digit = [](char c) {
    return (detail::to_lower(c) >= 'a' && detail::to_lower(c) <= 'z') || (c >= '0' && c <= '9');
  };
  return is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
         text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; });
}

bool is_path(std::string_view text) noexcept {
  return text.starts_with('/') && std::all_of(text.begin(), text.end(), [](char c) {
           return c >= 0x20 && c < 0x7f && c != ';';
         });
}

// Clients compare the prefixes of names without regard to case.
bool has_prefix(std::string_view name, std::string_view prefix) noexcept {
  return name.size() >= prefix.size() &&
         detail::equal_ignoring_case(name.substr(0, prefix.size()), prefix);
}

void check(const set_cookie& one) {
  if (!detail::is_token(one.name)) {
    refuse(one, "the name is not a token: use letters, digits, '-' and '_'");
  }
  if (!detail::is_cookie_value(one.value)) {
    refuse(one,
           "the value contains a blank, a quote, a comma, a semicolon, a backslash, or a character "
           "that is not visible ASCII: encode it, for example as base64url");
  }
  if (one.name.size() + one.value.size() > set_cookie::bytes_max) {
    refuse(one, "name and value have " + std::to_string(one.name.size() + one.value.size()) +
                    " bytes: at most " + std::to_string(set_cookie::bytes_max) + " are allowed");
  }
  if (one.path.size() > set_cookie::attribute_bytes_max || !is_path(one.path)) {
    refuse(one, "the path must begin with a slash, and consist of at most " +
                    std::to_string(set_cookie::attribute_bytes_max) +
                    " printable ASCII characters without semicolons");
  }
  if (!one.domain.empty() &&
      (one.domain.size() > set_cookie::attribute_bytes_max || !is_domain(one.domain))) {
    refuse(one, "the domain must be a host name, without a dot at its begin");
  }
  if (one.site == set_cookie::same_site::none && !one.secure) {
    refuse(one, "clients ignore a cookie with same_site none that is not secure");
  }
  const bool is_host = has_prefix(one.name, "__Host-");
  if ((is_host || has_prefix(one.name, "__Secure-")) && !one.secure) {
    refuse(one, "clients ignore a cookie with this name that is not secure");
  }
  if (is_host && (one.path != "/" || !one.domain.empty())) {
    refuse(one, "clients ignore a cookie with this name that has a domain or a path other than /");
  }
}

}  // namespace

std::string set_cookie::to_string() const {
  check(*this);
  std::string text = name + '=' + value;
  if (max_age) {
    text += "; Max-Age=" + std::to_string(std::max<std::chrono::seconds::rep>(0, max_age->count()));
  }
  text += "; Path=" + path;
  if (!domain.empty()) text += "; Domain=" + domain;
  switch (site) {
    case same_site::strict:
      text += "; SameSite=Strict";
      break;
    case same_site::lax:
      text += "; SameSite=Lax";
      break;
    case same_site::none:
      text += "; SameSite=None";
      break;
  }
  if (http_only) text += "; HttpOnly";
  if (secure) text += "; Secure";
  return text;
}

void set_cookie::add_to(response& to) const { to.headers.emplace_back("Set-Cookie", to_string()); }

}  // namespace troupe::http
