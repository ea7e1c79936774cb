// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <troupe/actor/task.hpp>
#include <troupe/http/handler.hpp>
#include <troupe/http/request.hpp>
#include <troupe/http/response.hpp>

namespace troupe::http {

namespace detail {
struct middleware_chain;
}  // namespace detail

/// The rest of the way of a request: the middleware after this one, and then the handler.
///
/// Threads: a plain value, for the coroutine of the middleware that got it.
class next_handler {
 public:
  next_handler(const detail::middleware_chain& of, std::size_t index) noexcept
      : of_(&of), index_(index) {}

  /// Passes the request on. A request_error of the handler is returned as its response; other
  /// exceptions are thrown here.
  [[nodiscard]] task<response> operator()(request r) const;

 private:
  const detail::middleware_chain* of_;
  std::size_t index_;
};

/// A coroutine around the handlers of routes. It may change the request, refuse it, wait, and
/// change the response:
///
///     server.use([](request r, next_handler next) -> task<response> {
///       if (r.header("X-Key") != key) co_return problem(401, "X-Key is wrong");
///       response made = co_await next(std::move(r));
///       made.headers.emplace_back("X-Served-By", "troupe");
///       co_return made;
///     });
///
/// It runs where the handler runs, in the same actor, and counts towards the same time limit.
class middleware {
 public:
  template <class F>
    requires(
        !std::same_as<std::remove_cvref_t<F>, middleware> &&
        std::is_invocable_r_v<task<response>, std::remove_cvref_t<F>&, request &&, next_handler>)
  middleware(F&& f) : call_(std::forward<F>(f)) {}

  /// `r` must live as long as the result.
  [[nodiscard]] task<response> start(request&& r, next_handler next) const {
    return call_(std::move(r), next);
  }

 private:
  std::function<task<response>(request&&, next_handler)> call_;
};

/// Returns middleware that gives each request an identifier: the header X-Request-Id of the request
/// if it is valid (1 to 128 letters, digits, '-', '_' and '.'), or else 32 random hexadecimal
/// digits. The response has the same header, and handlers read it with
/// `request::attached<request_id>()`.
struct request_id {
  std::string value;
};
[[nodiscard]] middleware identify_requests();

/// The headers of secure_responses(). An empty one is not set.
struct security_headers {
  std::string content_type_options = "nosniff";
  std::string frame_options = "DENY";
  std::string referrer_policy = "no-referrer";
  std::string content_security_policy = "default-src 'self'; frame-ancestors 'none'";
  /// Strict-Transport-Security, only in responses over TLS.
  std::optional<std::chrono::seconds> strict_transport = std::chrono::hours(24 * 365);
};
/// Returns middleware that sets these headers in each response that does not have them.
[[nodiscard]] middleware secure_responses(security_headers with = {});

/// The name and the password of a request with Basic authentication (RFC 7617).
struct basic_credentials {
  std::string user;
  std::string password;
};
/// Returns middleware for which `check` decides: a request without credentials, or for which it
/// returns false, is answered with 401. Handlers read the credentials with
/// `request::attached<basic_credentials>()`. `check` may wait. Compare passwords with
/// is_same_secret(). `realm`: printable ASCII without quotes and backslashes; std::invalid_argument
/// otherwise.
[[nodiscard]] middleware basic_authentication(
    std::string realm, std::function<task<bool>(const basic_credentials&)> check);

/// The token of a request with Bearer authentication (RFC 6750).
struct bearer_token {
  std::string value;
};
/// The same for a token.
[[nodiscard]] middleware bearer_authentication(
    std::string realm, std::function<task<bool>(const bearer_token&)> check);

/// Compares two secrets in a time that depends only on their lengths.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b) noexcept;

}  // namespace troupe::http
