// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <troupe/http/request.hpp>
#include <troupe/http/session.hpp>

#include "beast.hpp"
#include "byte_share.hpp"
#include "metrics_maker.hpp"
#include "request_parser.hpp"
#include "server_context.hpp"

namespace troupe::http::detail {

/// The response that accepts a WebSocket.
struct upgrade {
  request asked;                   // compact: it is kept as long as the WebSocket
  const session_factory* session;  // the server's
  std::string protocol;            // may be empty
  std::string answer;              // 101, whole
  /// Of limits::upgrade_requests_bytes; null: none is needed.
  std::unique_ptr<byte_share> share = {};
};

/// The bytes of each kept request that are not counted, so that a usual request is not refused
/// because others are large.
inline constexpr std::size_t own_request_bytes = 2 * 1024;

/// The request is answered with a text that is still to be made, by respond_metrics().
struct scrape {
  const ref<metrics_maker>* from;  // the server's
};

/// The request is answered by a coroutine that has not been started. The request is not consumed.
struct to_handle {
  const route_handler* by;  // the server's
};

using responded = std::variant<reply, upgrade, scrape, to_handle>;

/// The parts of a request that the form of its response depends on.
struct response_form {
  unsigned version = 11;
  bool head_only = false;

  [[nodiscard]] static response_form of(const request_head& asked) noexcept {
    return {.version = asked.version, .head_only = asked.asked.method() == "HEAD"};
  }
};

/// The handler that needs the body of this request; null if it is answered without the body.
///
/// Threads: any, concurrently.
[[nodiscard]] const route_handler* reader_of_body(const server_context& on,
                                                  const request_head& asked);

/// Responds to one request by its route, a file or an error, and counts it. If reader_of_body()
/// returned a handler, the request has its body. The request is consumed.
///
/// Threads: any, at once. The route's handler runs here.
[[nodiscard]] responded respond(const server_context& on, request_head& asked, bool keep_alive);

/// The response to a request for which respond() returned to_handle.
[[nodiscard]] reply respond_handled(const server_context& on, const response_form& form,
                                    bool keep_alive, std::string_view path, response&& with);

/// The result of a handler.
struct handler_result {
  response with;
  bool failed = false;
};
/// The response to an exception that has left the handler of `path`. A request_error has its own
/// response; everything else is a failure, which is logged, and is still to be counted.
[[nodiscard]] handler_result result_of_exception(std::string_view path,
                                                 const std::exception_ptr& thrown);

/// The response to a request for which respond() returned a scrape. `text` is not null.
[[nodiscard]] reply respond_metrics(const server_context& on, const request_head& asked,
                                    bool keep_alive, std::shared_ptr<const std::string> text);

/// 429: the client exceeds its rate of requests, and has to wait that long. It is not counted.
[[nodiscard]] reply respond_too_many(const server_context& on, const request_head& asked,
                                     bool keep_alive, duration wait);

/// A text that says what is wrong, after which the connection is closed. It is not counted.
/// `asked`: what was parsed of the request, or null.
[[nodiscard]] reply respond_error(const server_context& on, const refusal& what,
                                  const request_head* asked);

}  // namespace troupe::http::detail
