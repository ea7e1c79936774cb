// SPDX-License-Identifier: Apache-2.0

#include "content_type.hpp"

#include <array>
#include <utility>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 28> types{{
    {"avif", "image/avif"},
    {"css", "text/css; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"htm", "text/html; charset=utf-8"},
    {"html", "text/html; charset=utf-8"},
    {"ico", "image/x-icon"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"map", "application/json"},
    {"md", "text/markdown; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"svg", "image/svg+xml"},
    {"txt", "text/plain; charset=utf-8"},
    {"wasm", "application/wasm"},
    {"webm", "video/webm"},
    {"webmanifest", "application/manifest+json"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xml", "application/xml"},
}};

}  // namespace

std::string_view content_type_of(std::string_view path) noexcept {
  const std::size_t dot = path.find_last_of("./");
  if (dot != std::string_view::npos && path[dot] == '.') {
    const std::string_view extension = path.substr(dot + 1);
    for (const auto& [known, type] : types) {
      if (equal_ignoring_case(extension, known)) return type;
    }
  }
  return "application/octet-stream";
}

}  // namespace troupe::http::detail
