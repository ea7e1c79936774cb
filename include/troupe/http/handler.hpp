// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <troupe/actor/placement.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/http/problem.hpp>
#include <troupe/http/request.hpp>
#include <troupe/http/response.hpp>

namespace troupe::http {

namespace detail {

template <class F>
concept plain_handler = std::is_invocable_r_v<response, F&, const request&>;
template <class F>
concept coroutine_handler = requires(F& f, request&& r) {
  { f(std::move(r)) } -> std::same_as<task<response>>;
};

}  // namespace detail

/// Handles the requests of a route: a function, or a function that returns a coroutine.
///
///     [](const request& r) { return response::text("hello"); }
///
///     [accounts](request r) -> task<response> {
///       const auto balance = co_await accounts.ask<get_balance>(50ms, account_of(r));
///       if (!balance) co_return response::error(503, balance.error().message());
///       co_return response::json(std::to_string(*balance));
///     }
///
/// A plain function runs on the thread of the connection and delays all other connections of that
/// thread, so it must not block. With several loops it runs concurrently.
///
/// A coroutine runs in an actor that exists for this one request. It may wait for replies of
/// actors, timers and everything else that handlers of actors can await. It takes the request by
/// value, or by reference to const: the request lives as long as the coroutine. The coroutine is
/// destroyed where it waits if the client disconnects, if route_options::timeout passes, or if the
/// server is cut. Messages that it has sent by then are handled nevertheless.
///
/// The function and its captures belong to the server. The server calls it until stop() or drain()
/// has returned, and all coroutines have ended by then.
class handler {
 public:
  handler() = default;
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, handler> &&
             detail::plain_handler<std::remove_cvref_t<F>> &&
             !detail::coroutine_handler<std::remove_cvref_t<F>>)
  handler(F&& f) : plain_(std::forward<F>(f)) {}
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, handler> &&
             detail::coroutine_handler<std::remove_cvref_t<F>>)
  handler(F&& f) : coroutine_(std::forward<F>(f)) {}

  /// Returns false for a handler that was made of nothing, or of an empty std::function.
  [[nodiscard]] explicit operator bool() const noexcept { return plain_ || coroutine_; }
  [[nodiscard]] bool is_coroutine() const noexcept { return static_cast<bool>(coroutine_); }

  /// Calls the plain function.
  [[nodiscard]] response operator()(const request& of) const { return plain_(of); }
  /// Makes the coroutine. `of` must live as long as the result.
  [[nodiscard]] task<response> start(request&& of) const { return coroutine_(std::move(of)); }

 private:
  std::function<response(const request&)> plain_;
  std::function<task<response>(request&&)> coroutine_;
};

/// Options of a route whose handler is a coroutine.
struct route_options {
  /// Where the coroutines run. Nothing: on the thread of the connection, which is the fastest. A
  /// coroutine that computes for long belongs on the pool: `.where = troupe::pool`.
  std::optional<placement> where = {};
  /// How long a request may be handled. Afterwards the coroutine is destroyed, and the response is
  /// 503. Nothing: limits::handler_timeout.
  std::optional<std::chrono::milliseconds> timeout = {};
};

}  // namespace troupe::http
