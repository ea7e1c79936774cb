// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <troupe/http/client_options.hpp>
#include <troupe/http/fetch.hpp>
#include <troupe/http/session.hpp>
#include <troupe/http/websocket.hpp>
#include <troupe/net/loop.hpp>
#include <troupe/troupe.hpp>

namespace troupe::http {

/// To an http::client: open a WebSocket, and serve it by a session, an actor as those of a server. It answers
/// `connected`. The session is made, with its http::websocket, when the other end has agreed; what that sends is held
/// back as a server holds back its clients.
///
///   http::connect_websocket what("wss://example.org/feed", http::served_by<listener>(system, prices));
///   what.protocols = {"feed.v1"};
///   auto got = co_await client.ask<http::connect_websocket>(no_timeout, std::move(what));
///
/// An answer comes in limits::handshake_time of client_options at the latest.
struct connect_websocket {
  connect_websocket(std::string to, detail::session_factory by)
      : url(std::move(to)), session(std::move(by)) {}

  /// "ws://" or "wss://"; otherwise as of a fetch.
  std::string url;
  /// As of a fetch; those that begin with Sec-WebSocket- are the client's as well.
  header_list headers = {};
  /// What is offered as a subprotocol. With some, the other end has to choose one of them.
  std::vector<std::string> protocols = {};
  /// 0: that of the client's options.
  std::chrono::milliseconds time{0};
  detail::session_factory session;

  [[nodiscard]] std::size_t owned_bytes() const noexcept;
};

/// Makes a session of type S, S(http::websocket, args...), with a copy of the arguments.
template <session S, class... Args>
[[nodiscard]] detail::session_factory served_by(troupe::system& on, Args... args) {
  return [system = &on, args = std::make_tuple(std::move(args)...)](
             http::websocket peer) -> std::unique_ptr<detail::session_port> {
    return std::apply(
        [&](const Args&... copied) {
          return std::make_unique<detail::session_of<S>>(
              system->spawn<S>(std::move(peer), copied...));
        },
        args);
  };
}

/// What is wrong with it, if something is, before anything is connected to.
[[nodiscard]] std::optional<std::string> what_is_wrong(const connect_websocket& with);

/// What became of a connect_websocket.
struct connected {
  client_error error = client_error::none;
  std::string why = {};
  /// Of the answer; 0 if there was none. 101 if all is well.
  unsigned status = 0;
  http::websocket socket = {};  // as its session has it

  [[nodiscard]] explicit operator bool() const noexcept { return error == client_error::none; }
};

/// What a client has done since it was made.
struct client_statistics {
  std::uint64_t connections = 0;  // at the moment, those without a request included
  std::uint64_t websockets = 0;   // at the moment
  std::uint64_t waiting = 0;      // requests without a connection, at the moment
  std::uint64_t connected = 0;    // connections ever, without WebSockets
  std::uint64_t requests = 0;     // taken
  std::uint64_t answered = 0;     // with an answer
  std::uint64_t failed = 0;       // with an error
  std::uint64_t reused = 0;       // on a connection that had had one before
  std::uint64_t repeated = 0;     // on another connection, as a kept one had just been closed
};

/// To an http::client: what it has done. It answers client_statistics.
struct count_client {};

namespace detail {
class client_pool;
class outgoing_websocket;
struct site;
}  // namespace detail

/// Makes requests, and opens WebSockets, of HTTP/1.1, with TLS where the URL says so. It keeps connections for the
/// next request, as many as its options say.
///
///   net::loop loop(system);
///   auto client = http::client::spawn(system, loop);
///   http::fetched got = client.ask<http::fetch>(no_timeout, what).get().value();
///
/// A request that fails before an answer has begun, on a connection that was kept, is made once more if it may be
/// (GET, HEAD, OPTIONS, PUT, DELETE): the other end may have closed the connection at the same moment. No other one is
/// ever made twice.
///
/// Threads:   an actor bound to the loop, whose completion handlers it shares in. Questions from anywhere.
/// Invariant: each question has an answer within its time, also when the client ends: client_error::stopped.
///            It stays while a question is open. WebSockets that are open stay when it ends.
/// Cost:      names are looked up on a thread of the loop's own, one after the other, since getaddrinfo() blocks:
///            so one that nobody answers holds up others, and the end of the loop, for as long as the system's
///            resolver tries.
/// Errors:    of its constructor: std::invalid_argument for a limit of nothing, and for trusted certificates that
///            cannot be read.
class client : public actor {
 public:
  client(net::loop& on, client_options options);
  ~client();

  /// On that loop.
  [[nodiscard]] static ref<client> spawn(troupe::system& in, net::loop& on,
                                         client_options options = {});

  void on(fetch&& what, reply<fetched> owed);
  void on(connect_websocket&& what, reply<connected> owed);
  client_statistics on(count_client);

  struct look {};
  void on(look);
  void on(const down& which);

 private:
  void look_again(time_point due);

  const std::shared_ptr<detail::client_pool> pool_;  // with its WebSockets
  std::shared_ptr<const detail::site> site_;         // of these, from the first on
  std::unordered_map<address, ref<detail::outgoing_websocket>> websockets_;
  timer alarm_;
  time_point due_ = time_point::max();
};

}  // namespace troupe::http
