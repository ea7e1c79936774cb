// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/response.hpp>

#include "beast.hpp"

namespace troupe::http {

response response::text(std::string body, unsigned status) {
  return {.status = status, .body = std::move(body), .headers = {}};
}

response response::html(std::string body, unsigned status) {
  return {.status = status,
          .content_type = "text/html; charset=utf-8",
          .body = std::move(body),
          .headers = {}};
}

response response::json(std::string body, unsigned status) {
  return {
      .status = status, .content_type = "application/json", .body = std::move(body), .headers = {}};
}

response response::error(unsigned status, std::string_view why) {
  std::string line = std::to_string(status);
  line += ' ';
  line += reason_phrase(status);
  if (!why.empty()) {
    line += ": ";
    line += why;
  }
  line += '\n';
  return text(std::move(line), status);
}

response response::redirect(std::string location, unsigned status) {
  response result = error(status);
  result.headers.emplace_back("Location", std::move(location));
  return result;
}

std::string_view reason_phrase(unsigned status) noexcept {
  const auto known = boost::beast::http::int_to_status(status);
  if (known == boost::beast::http::status::unknown) return "Unknown Status";
  return boost::beast::http::obsolete_reason(known);
}

}  // namespace troupe::http
