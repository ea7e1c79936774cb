// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/net/socket.hpp>
#include <troupe/troupe.hpp>

#include "admission.hpp"
#include "alarm.hpp"
#include "channel.hpp"
#include "client_address.hpp"
#include "http_stage.hpp"
#include "metrics_maker.hpp"
#include "request_handler.hpp"
#include "respond.hpp"
#include "server_context.hpp"
#include "tls_socket.hpp"
#include "unfinished_handlers.hpp"
#include "websocket_stage.hpp"

namespace troupe::http::detail {

/// To a connection: the server drains. The connection completes what it has received, and closes.
struct leave {};

/// The spawn options of the server's own actors. The number of connections bounds the messages sent
/// to them, and none of these may be refused.
[[nodiscard]] inline spawn_options without_limits(pump& on) {
  return {.where = bound_to(on), .max_messages = no_limit, .max_bytes = no_limit};
}

/// Whether a client is served, or refused because no space is left.
enum class entry : std::uint8_t { admitted, refused };

/// One client: an HTTP conversation at first, and later perhaps a WebSocket. It gives these two
/// stages the abilities of an actor: messages, a timer and monitoring of another actor.
///
/// Asynchronous operations need memory that stays until they complete, even if this actor is
/// stopped meanwhile. Stream and buffers therefore belong to the stages. A completion handler
/// shares ownership of its stage, and does nothing once the stage has been abandoned.
///
/// Threads:   bound to the loop of its stream. Completion handlers are called between turns.
/// Invariant: one stage is active from on_start() to the end, and stops the actor when it is over.
template <class Stream>
class basic_connection : public actor {
 public:
  using entry = detail::entry;

  /// `pump`: that of the loop to which this actor is bound.
  basic_connection(std::shared_ptr<const server_context> on, Stream stream, const ip_address& peer,
                   entry as, troupe::pump& pump)
      : as_(as),
        pump_(pump),
        on_(on),
        http_(std::make_shared<http_stage<Stream>>(*this, std::move(on), std::move(stream), peer)) {
  }
  ~basic_connection() {
    if (http_) http_->abandon();
    if (websocket_) websocket_->abandon();
    on_->unfinished.add(std::move(handlers_));
  }

  void on_start() { as_ == entry::admitted ? http_->start() : http_->refuse(); }

  void on(tick) {
    alarm_.rang();
    const time_point now = clock::now();
    set_alarm(websocket_ ? websocket_->tick(now) : http_->tick(now));
  }
  void on(poke) {
    if (websocket_) websocket_->look();
  }
  void on(leave) {
    leaving_ = true;
    websocket_ ? websocket_->drain() : http_->drain();
  }
  void on(const down& m) {
    if (websocket_) websocket_->session_ended(m.reason);
  }

  void on(const metrics_text& m) {
    if (http_) http_->on_metrics(m);
  }
  void on(handled m) {
    if (http_) http_->on_handled(std::move(m));
  }

  struct broken {
    std::exception_ptr why;
  };
  void on(const broken& m) { std::rethrow_exception(m.why); }

  // ── For the stages ──────────────────────────────────────────────────────────────────────────
  void set_alarm(time_point due) { alarm_.set(due, self(this)); }

  void switch_to_websocket(metered_stream<Stream> stream, upgrade to, const client_key& who,
                           client_place place) {
    recipient<poke> me = self(this);
    const std::string answer = std::move(to.answer);
    websocket_ = std::make_shared<websocket_stage<Stream>>(
        *this, on_, std::move(stream), std::move(to), std::move(me), who, std::move(place));
    http_.reset();  // its completion handler, which calls, still holds it
    websocket_->accept(answer);
    if (leaving_) websocket_->drain();
  }

  void watch_session(const address& who) { watch(who); }

  /// False if no metrics_text will come.
  bool want_metrics(const ref<metrics_maker>& from, std::uint64_t number) {
    const delivery how = from.send(metrics_maker::wanted{self(this), number});
    return how == delivery::accepted || how == delivery::paused;
  }

  /// Starts the coroutine of a route. Returns false, and `asked` is lost, if the system is
  /// stopping, or if twice as many handlers exist as there may be connections: they do not end
  /// although their clients have gone.
  ///
  /// Errors: std::bad_alloc.
  bool start_handler(const route_handler& how, std::uint64_t number, request asked,
                     body_share share) {
    const std::size_t alive = on_->handlers_alive.load(relaxed);  // [handlers]
    if (alive / 2 >= on_->limits().connections_max) return false;
    handlers_.reserve_one();
    spawn_options options = without_limits(pump_);
    if (how.options.where) options.where = *how.options.where;
    const auto made = system().template spawn<request_handler>(
        options, self(this), number, on_, how.call, std::move(asked), std::move(share));
    handlers_.add(made);
    return made.send(request_handler::begin{}) == delivery::accepted;
  }
  void cancel_handlers() noexcept { (void)handlers_.stop_now(); }

  /// Ends this actor.
  void over() { stop(); }

  /// An exception has left a completion handler. It fails this actor like an exception of a
  /// handler.
  void operation_failed(std::exception_ptr why) noexcept {
    try {
      self(this).send(broken{std::move(why)});
    } catch (...) {
      over();  // no memory is left to report the reason
    }
  }

 private:
  entry as_;
  troupe::pump& pump_;
  bool leaving_ = false;
  running_handlers handlers_;
  alarm alarm_;
  std::shared_ptr<const server_context> on_;
  std::shared_ptr<http_stage<Stream>> http_;            // until the upgrade
  std::shared_ptr<websocket_stage<Stream>> websocket_;  // after the upgrade
};

using connection = basic_connection<net::socket>;
using secure_connection = basic_connection<tls_socket>;

extern template class basic_connection<net::socket>;
extern template class http_stage<net::socket>;
extern template class websocket_stage<net::socket>;
extern template class basic_connection<tls_socket>;
extern template class http_stage<tls_socket>;
extern template class websocket_stage<tls_socket>;

}  // namespace troupe::http::detail
