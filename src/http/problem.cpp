// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/problem.hpp>

#include <nlohmann/json.hpp>
#include <utility>

namespace troupe::http {
namespace {

std::string text_of(unsigned status, std::string_view detail, std::string_view title) {
  std::string text = std::to_string(status) + ' ';
  text += title.empty() ? reason_phrase(status) : title;
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

unsigned checked(unsigned status) {
  if (status >= 400 && status <= 599) return status;
  throw std::logic_error("http::request_error: status " + std::to_string(status) +
                         " is not one of an error (400–599)");
}

}  // namespace

response problem(unsigned status, std::string_view detail, std::string_view title) {
  // Without "type", the type is "about:blank": the status says it all (RFC 9457, 4.2.1).
  nlohmann::ordered_json members;
  members["title"] = title.empty() ? reason_phrase(status) : title;
  members["status"] = status;
  if (!detail.empty()) members["detail"] = detail;
  return {.status = status,
          .content_type = "application/problem+json",
          .body = members.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
          .headers = {}};
}

request_error::request_error(unsigned status, std::string detail, std::string title)
    : std::runtime_error(text_of(checked(status), detail, title)),
      status_(status),
      detail_(std::move(detail)),
      title_(std::move(title)) {}

response request_error::to_response() const { return problem(status_, detail_, title_); }

}  // namespace troupe::http
