// SPDX-License-Identifier: Apache-2.0
#include "log_text.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

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

void append_plain(std::string& to, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      to += "\n    ";
    } else if (c != '\t' && (byte < 0x20 || byte == 0x7f)) {
      constexpr std::string_view digits = "0123456789abcdef";
      to += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    } else {
      to += c;
    }
  }
}

// Also without what would end the line: a client chooses these.
std::string on_one_line(std::string_view text) {
  std::string plain;
  append_plain(plain, text);
  for (std::size_t at = 0; (at = plain.find('\n', at)) != std::string::npos;)
    plain.replace(at, 5, "\\n");
  return plain;
}

std::string json(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
  text += is_request ? (line.method.empty() ? "-" : on_one_line(line.method)) : "WebSocket";
  text += " " + (line.target.empty() ? "-" : on_one_line(line.target));
  text += " " + std::to_string(line.status) + " " + std::to_string(line.bytes) + " B ";
  return text + milliseconds(line.took) + " ms";
}

std::string as_json(const http::access& line) {
  const bool is_request = line.what == http::access::kind::request;
  return std::string("\"log\":\"access\",\"what\":") +
         (is_request ? "\"request\"" : "\"websocket\"") + ",\"peer\":" + json(line.peer) +
         ",\"method\":" + json(line.method) + ",\"target\":" + json(line.target) +
         ",\"status\":" + std::to_string(line.status) + ",\"bytes\":" + std::to_string(line.bytes) +
         ",\"milliseconds\":" + milliseconds(line.took);
}

}  // namespace troupe::server::detail
