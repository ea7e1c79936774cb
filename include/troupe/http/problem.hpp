// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <troupe/http/response.hpp>

namespace troupe::http {

/// Returns the response of an error that programs can read: `application/problem+json`, RFC 9457,
/// with the members "title", "status" and "detail". Without a title, it is the name of the status.
/// Without a detail, this member is left out. Bytes that are not UTF-8 are replaced by U+FFFD.
[[nodiscard]] response problem(unsigned status, std::string_view detail = {},
                               std::string_view title = {});

/// Thrown by the handler of a route if the client's request is wrong. The server responds with
/// to_response(). It is not a failure of the handler: it is neither logged nor counted as one.
class request_error : public std::runtime_error {
 public:
  /// Errors: std::logic_error for a status outside 400–599.
  explicit request_error(unsigned status, std::string detail = {}, std::string title = {});

  [[nodiscard]] unsigned status() const noexcept { return status_; }
  [[nodiscard]] const std::string& detail() const noexcept { return detail_; }
  /// Empty if it is the name of the status.
  [[nodiscard]] const std::string& title() const noexcept { return title_; }

  /// The problem() with these parts.
  [[nodiscard]] virtual response to_response() const;

 private:
  unsigned status_;
  std::string detail_;
  std::string title_;
};

}  // namespace troupe::http
