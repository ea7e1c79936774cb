// SPDX-License-Identifier: Apache-2.0
#include "log_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "http/utf8.hpp"

namespace troupe::server::detail {
namespace {

std::string_view name_of(lua::severity how) noexcept {
  switch (how) {
    case lua::severity::debug:
      return "debug";
    case lua::severity::info:
      return "info";
    case lua::severity::warning:
      return "warning";
    case lua::severity::error:
      break;
  }
  return "error";
}

void append_escaped(std::string& to, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  to += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

// The size of the first character of a text; 0 if it is not UTF-8.
std::size_t character_size(std::string_view text) noexcept {
  const auto byte = static_cast<unsigned char>(text.front());
  const std::size_t size = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
  return size <= text.size() && http::detail::is_utf8(text.substr(0, size)) ? size : 0;
}

// A control character from U+0080 to U+009F in UTF-8, which some terminals obey like ESC.
bool begins_c1(std::string_view text) noexcept {
  return text.size() >= 2 && text[0] == '\xc2' && static_cast<unsigned char>(text[1]) >= 0x80 &&
         static_cast<unsigned char>(text[1]) < 0xa0;
}

void append_plain(std::string& to, std::string_view text) {
  while (!text.empty()) {
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t size = character_size(text);
    if (c == '\n') {
      to += "\n    ";
    } else if (size == 0 || begins_c1(text) || (c != '\t' && byte < 0x20) || byte == 0x7f) {
      append_escaped(to, c);
      if (begins_c1(text)) append_escaped(to, text[1]);
    } else {
      to += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
}

// Text that a client chooses: reduced to printable ASCII and a maximum length.
std::string of_a_client(std::string_view text, std::size_t bytes_max) {
  std::string plain;
  for (const char c : text.substr(0, bytes_max)) {
    c > ' ' && c < 0x7f ? void(plain += c) : append_escaped(plain, c);
  }
  if (text.size() > bytes_max) {
    plain += "...(" + std::to_string(text.size() - bytes_max) + " bytes more)";
  }
  return plain;
}

constexpr std::size_t method_bytes_max = 32;
constexpr std::size_t target_bytes_max = 256;

// A target without the values of its query: "/feed?token=*&page=*". A part without a name is a
// value.
std::string without_values(std::string_view target) {
  const std::size_t query = target.find('?');
  std::string shown(target.substr(0, query));
  if (query == std::string_view::npos) return shown;
  std::string_view rest = target.substr(query);
  while (!rest.empty() && shown.size() <= target_bytes_max) {
    shown += rest.front();
    rest.remove_prefix(1);
    const std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(part.size());
    const std::size_t value = part.find('=');
    if (value != std::string_view::npos) shown += part.substr(0, value + 1);
    if (!part.empty()) shown += '*';
  }
  return shown;
}

std::string method_of(const http::access& line) {
  return of_a_client(line.method, method_bytes_max);
}
std::string target_of(const http::access& line) {
  return of_a_client(without_values(line.target), target_bytes_max);
}

std::string json(std::string_view text) {
  const std::string made =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto byte = static_cast<unsigned char>(made[i]);
    if (byte != 0x7f && !begins_c1(std::string_view(made).substr(i))) {
      safe += made[i];
      continue;
    }
    std::array<char, 8> escaped;
    const unsigned code = byte == 0x7f ? 0x7f : static_cast<unsigned char>(made[++i]);
    std::snprintf(escaped.data(), escaped.size(), "\\u%04x", code);
    safe += escaped.data();
  }
  return safe;
}

std::string milliseconds(std::chrono::nanoseconds took) {
  std::array<char, 40> text;
  const int size = std::snprintf(text.data(), text.size(), "%.3f",
                                 std::chrono::duration<double, std::milli>(took).count());
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

std::string as_text(const lua::log_line& line) {
  std::string text(name_of(line.how));
  text.resize(8, ' ');
  text += line.application.empty() ? std::string_view("server") : line.application;
  if (line.instance != 0) text += "/" + std::to_string(line.instance);
  text += ": ";
  append_plain(text, line.text);
  return text;
}

std::string as_json(const lua::log_line& line) {
  std::string text = "\"level\":\"" + std::string(name_of(line.how)) + "\"";
  if (!line.application.empty()) text += ",\"application\":" + json(line.application);
  if (line.instance != 0) text += ",\"instance\":" + std::to_string(line.instance);
  return text + ",\"text\":" + json(line.text);
}

std::string as_text(const http::access& line) {
  const bool is_request = line.what == http::access::kind::request;
  std::string text = "access  " + std::string(line.peer) + " ";
  text += is_request ? (line.method.empty() ? "-" : method_of(line)) : "WebSocket";
  text += " " + (line.target.empty() ? "-" : target_of(line));
  text += " " + std::to_string(line.status) + " " + std::to_string(line.bytes) + " B ";
  return text + milliseconds(line.took) + " ms";
}

std::string as_json(const http::access& line) {
  const bool is_request = line.what == http::access::kind::request;
  return std::string("\"log\":\"access\",\"what\":") +
         (is_request ? "\"request\"" : "\"websocket\"") + ",\"peer\":" + json(line.peer) +
         ",\"method\":" + json(method_of(line)) + ",\"target\":" + json(target_of(line)) +
         ",\"status\":" + std::to_string(line.status) + ",\"bytes\":" + std::to_string(line.bytes) +
         ",\"milliseconds\":" + milliseconds(line.took);
}

}  // namespace troupe::server::detail
