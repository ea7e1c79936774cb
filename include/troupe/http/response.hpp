// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::http {

/// The response of a route handler. The server adds Date, Server, Content-Length and Connection.
///
/// Errors: a status outside 200–599, and a header whose name or value is not valid on one line, are
///         answered with 500 and counted as a failure of the handler.
struct response {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;

  [[nodiscard]] static response text(std::string body, unsigned status = 200);
  [[nodiscard]] static response html(std::string body, unsigned status = 200);
  /// Returns a response with a JSON body; `body` must already be JSON.
  [[nodiscard]] static response json(std::string body, unsigned status = 200);
  /// Returns a response with one line of text: "404 Not Found", followed by a colon and `why` if
  /// that is given.
  [[nodiscard]] static response error(unsigned status, std::string_view why = {});
  [[nodiscard]] static response redirect(std::string location, unsigned status = 302);
};

/// Returns the name of a status: "Not Found" for 404, "Unknown Status" for a status without a name.
[[nodiscard]] std::string_view reason_phrase(unsigned status) noexcept;

}  // namespace troupe::http
