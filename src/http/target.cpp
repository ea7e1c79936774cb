// SPDX-License-Identifier: Apache-2.0

#include "target.hpp"

#include <algorithm>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_scheme(std::string_view text) noexcept {
  const auto is_letter = [](char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; };
  return !text.empty() && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
         });
}

// "http://host/a" → "/a"; what begins with a slash stays; of all else nothing is left.
std::string_view without_authority(std::string_view raw) noexcept {
  constexpr std::string_view separator = "://";
  if (raw.starts_with('/')) return raw;
  const std::size_t scheme = raw.find(separator);
  if (scheme == std::string_view::npos || !is_scheme(raw.substr(0, scheme))) return {};
  raw.remove_prefix(scheme + separator.size());
  const std::size_t host_bytes = std::min(raw.find_first_of("/?"), raw.size());
  if (host_bytes == 0) return {};
  return host_bytes == raw.size() ? "/" : raw.substr(host_bytes);
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

std::optional<target> parse_target(std::string_view raw) {
  raw = without_authority(raw.substr(0, raw.find('#')));
  const std::size_t question = raw.find('?');
  auto path = percent_decoded(raw.substr(0, question));
  if (!path) return std::nullopt;
  // "http://host?x=1" has an empty path, which means the root.
  if (path->empty() && question == 0) path->push_back('/');
  if (!path->starts_with('/') || std::any_of(path->begin(), path->end(), is_control)) {
    return std::nullopt;
  }
  return target{std::move(*path),
                question == std::string_view::npos ? std::string_view{} : raw.substr(question + 1)};
}

}  // namespace troupe::http::detail
