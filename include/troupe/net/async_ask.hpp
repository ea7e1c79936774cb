// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/ask_result.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/sending.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>

// Requests from Asio code: coroutines, futures and callbacks.

namespace troupe::net {

namespace detail {

/// A completion handler that is called once, on its executor. If it is destroyed before, it is
/// called with `stopped`. Without memory for the call, it is destroyed uncalled.
template <class R, class Handler>
class ask_handler {
 public:
  explicit ask_handler(Handler handler)
      : handler_(std::move(handler)), work_(boost::asio::make_work_guard(executor_of(handler_))) {}
  ask_handler(const ask_handler&) = delete;
  ask_handler& operator=(const ask_handler&) = delete;
  ~ask_handler() {
    if (is_called_) return;
    try {
      call(ask_error::stopped);
    } catch (...) {
      // No memory for the call.
    }
  }

  /// It is not called, because the caller gets an exception.
  void forget() noexcept { is_called_ = true; }

  void call(ask_result<R> got) {
    is_called_ = true;
    // The work ends after post() has returned: the context could otherwise run out of work, and be
    // destroyed, while post() still wakes its thread.
    boost::asio::post(work_.get_executor(),
                      [handler = std::move(handler_), got = std::move(got)]() mutable {
                        std::move(handler)(std::move(got));
                      });
    work_.reset();
  }

 private:
  static auto executor_of(const Handler& handler) noexcept {
    return boost::asio::get_associated_executor(handler, boost::asio::system_executor());
  }

  Handler handler_;
  boost::asio::executor_work_guard<decltype(executor_of(std::declval<const Handler&>()))> work_;
  bool is_called_ = false;
};

/// The requester of one request.
template <class To, class M, class R, class Handler>
class ask_actor final : public actor {
 public:
  ask_actor(To to, duration timeout, M message, std::shared_ptr<ask_handler<R, Handler>> handler)
      : to_(std::move(to)),
        timeout_(timeout),
        message_(std::move(message)),
        handler_(std::move(handler)) {}

  void on_start() {
    to_.template ask<M>(timeout_, std::move(message_))
        .then([handler = handler_](ask_result<R> got) { handler->call(std::move(got)); });
    handler_.reset();
  }

 private:
  const To to_;
  const duration timeout_;
  M message_;
  std::shared_ptr<ask_handler<R, Handler>> handler_;
};

}  // namespace detail

/// Sends a request, and passes its ask_result to a completion token of Asio. In a coroutine of
/// Asio:
///
///   const auto got = co_await troupe::net::async_ask<balance>(system, account, 50ms,
///                                                             boost::asio::use_awaitable);
///
/// `to` is a ref or a recipient; `async_ask<M>(system, to, timeout, token, arguments…)` builds the
/// message from its arguments. The handler is called on its associated executor, never within this
/// call.
///
/// Threads: any.
/// Errors:  in the result, as those of ask(); `stopped` if the system ends. Throws std::bad_alloc
///          and what the message's constructor throws, with nothing sent.
/// Cost:    an actor, and two messages more than ask().
template <class M, class To, class Token, class... Parts>
auto async_ask(system& in, const To& to, duration timeout, Token&& token, Parts&&... parts) {
  if constexpr (!(troupe::detail::safe_to_await<M, Parts> && ...)) {
    return static_cast<void>(sizeof(build_the_message_in_place<M>));
  } else {
    using future = decltype(to.template ask<M>(timeout, std::declval<M>()));
    using R = typename future::result::value_type;
    return boost::asio::async_initiate<Token, void(ask_result<R>)>(
        [&in, timeout]<class Handler>(Handler&& handler, To whom, M message) {
          using own = std::decay_t<Handler>;
          auto shared =
              std::make_shared<detail::ask_handler<R, own>>(std::forward<Handler>(handler));
          try {
            in.spawn<detail::ask_actor<To, M, R, own>>(std::move(whom), timeout, std::move(message),
                                                       shared);
          } catch (...) {
            shared->forget();
            throw;
          }
        },
        token, to, troupe::detail::build_message<M>(std::forward<Parts>(parts)...));
  }
}

}  // namespace troupe::net
