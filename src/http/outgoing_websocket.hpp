// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>

#include <troupe/base/clock.hpp>
#include <troupe/http/client.hpp>
#include <troupe/troupe.hpp>

#include "alarm.hpp"
#include "channel.hpp"
#include "client_handshake.hpp"
#include "client_pool.hpp"
#include "dialing.hpp"
#include "outgoing_stream.hpp"
#include "site.hpp"
#include "websocket_stage.hpp"

namespace troupe::http::detail {

class outgoing_websocket;

template <>
struct connection_end<outgoing_stream> {
  using owner = outgoing_websocket;
  static constexpr role as = role::client;
};

/// A WebSocket that this process opens. It connects, sends the request, and is then the client's
/// counterpart of a server's connection. Like basic_connection, it gives these steps the abilities
/// of an actor.
///
///   dialing ──▶ client_handshake ──▶ stage ──▶ over
///
/// Threads:   bound to the loop. Completion handlers are called between turns.
/// Invariant: the requester gets one reply, within limits::handshake_timeout. The actor stops itself
///            when all is over.
class outgoing_websocket : public actor {
 public:
  outgoing_websocket(std::shared_ptr<client_pool> with, std::shared_ptr<const site> on,
                     connect_websocket what, std::shared_ptr<byte_share> share, url to,
                     troupe::reply<connected> owed);
  ~outgoing_websocket();

  void on_start();
  void on(tick);
  void on(poke);
  void on(const down& m);
  struct broken {
    std::exception_ptr why;
  };
  void on(const broken& m) { std::rethrow_exception(m.why); }

  // ── For the stage ───────────────────────────────────────────────────────────────────────────
  void set_alarm(time_point due) { alarm_.set(due, self(this)); }
  void watch_session(const address& who) { watch(who); }
  void over() { stop(); }
  void operation_failed(std::exception_ptr why) noexcept {
    try {
      self(this).send(broken{std::move(why)});
    } catch (...) {
      over();  // no memory is left to report the reason
    }
  }

 private:
  void dialed_as(dialed result);
  void greeted_as(client_handshake_result result);
  void open(client_handshake_result result);
  void fail(client_error what, std::string why, unsigned status = 0);

  const std::shared_ptr<client_pool> pool_;
  const std::shared_ptr<const site> on_;
  const connect_websocket what_;
  const std::shared_ptr<byte_share> share_;  // the memory of the request
  const url to_;
  troupe::reply<connected> owed_;
  time_point due_;  // until it is open
  alarm alarm_;
  std::shared_ptr<dialing> dialing_;
  std::shared_ptr<client_handshake> greeting_;
  std::shared_ptr<websocket_stage<outgoing_stream>> stage_;
};

}  // namespace troupe::http::detail
