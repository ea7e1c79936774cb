// SPDX-License-Identifier: Apache-2.0

#include "target.hpp"

#include <algorithm>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_scheme(std::string_view text) noexcept {
  const auto is_letter = [](char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; };
  return !text.empty() && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
         });
}

struct parts {
  std::string_view authority;
  std::string_view rest;
};

// Splits "http://host/a" into "host" and "/a". A text that begins with a slash stays as it is. For
// any other text, the result is empty.
parts without_authority(std::string_view raw) noexcept {
  constexpr std::string_view separator = "://";
  if (raw.starts_with('/')) return {{}, raw};
  const std::size_t scheme = raw.find(separator);
  if (scheme == std::string_view::npos || !is_scheme(raw.substr(0, scheme))) return {};
  raw.remove_prefix(scheme + separator.size());
  const std::size_t host_bytes = std::min(raw.find_first_of("/?"), raw.size());
  const std::string_view host = raw.substr(0, host_bytes);
  if (host.empty() || host.front() == ':' || !is_host(host)) return {};
  return {host, host_bytes == raw.size() ? "/" : raw.substr(host_bytes)};
}

bool can_stand_in_target(char c) noexcept { return c > 0x20 && c < 0x7f && c != '#'; }

bool is_letter_or_digit(char c) noexcept {
  return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || (c >= '0' && c <= '9');
}

bool is_digits(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view encoded) {
  std::string result;
  result.reserve(encoded.size());
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      result.push_back(encoded[i]);
      continue;
    }
    if (encoded.size() - i < 3) return std::nullopt;
    const int high = hex_digit(encoded[i + 1]);
    const int low = hex_digit(encoded[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    result.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return result;
}

bool is_host(std::string_view text) noexcept {
  constexpr std::string_view marks = "-._~!$&'()*+,;=";
  std::string_view port;
  if (text.starts_with('[')) {  // an IPv6 address, or one of a future version
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || end == 1) return false;
    port = text.substr(end + 1);
    text = text.substr(1, end - 1);
    if (!std::all_of(text.begin(), text.end(), [&](char c) {
          return is_letter_or_digit(c) || c == ':' || marks.find(c) != std::string_view::npos;
        })) {
      return false;
    }
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    port = text.substr(colon);
    text = text.substr(0, colon);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      const bool is_escape = c == '%' && text.size() - i >= 3 && hex_digit(text[i + 1]) >= 0 &&
                             hex_digit(text[i + 2]) >= 0;
      if (!is_escape && !is_letter_or_digit(c) && marks.find(c) == std::string_view::npos) {
        return false;
      }
    }
    if (text.empty() && !port.empty()) return false;
  }
  return port.empty() || (port.front() == ':' && port.size() <= 6 && is_digits(port.substr(1)));
}

std::optional<target> parse_target(std::string_view raw) {
  if (!std::all_of(raw.begin(), raw.end(), can_stand_in_target)) return std::nullopt;
  const auto [authority, rest] = without_authority(raw);
  raw = rest;
  const std::size_t question = raw.find('?');
  const std::string_view sent = raw.substr(0, question);
  auto path = percent_decoded(sent);
  if (!path) return std::nullopt;
  // "http://host?x=1" has an empty path, which means the root.
  if (path->empty() && question == 0) path->push_back('/');
  if (!path->starts_with('/') || std::any_of(path->begin(), path->end(), is_control)) {
    return std::nullopt;
  }
  const bool has_escapes = path->size() < sent.size();
  return target{std::move(*path), has_escapes ? sent : std::string_view{},
                question == std::string_view::npos ? std::string_view{} : raw.substr(question + 1),
                authority};
}

}  // namespace troupe::http::detail
