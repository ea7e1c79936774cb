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

/// Asks an http::client to open a WebSocket and serve it by a session, an actor as in a server. The
/// reply is `connected`. The session is created, with its http::websocket, when the other end has
/// accepted the handshake. Backpressure applies to the other end as it does to the clients of a
/// server.
///
///   http::connect_websocket what("wss://example.org/feed",
///                                http::served_by<listener>(system, prices));
///   what.protocols = {"feed.v1"};
///   auto got = co_await client.ask<http::connect_websocket>(no_timeout, std::move(what));
///
/// The reply arrives within limits::handshake_timeout of client_options, unless `timeout` is set.
struct connect_websocket {
  connect_websocket(std::string to, detail::session_factory by)
      : url(std::move(to)), session(std::move(by)) {}

  /// "ws://" or "wss://"; all else as in fetch::url.
  std::string url;
  /// As in fetch::headers; headers whose names begin with Sec-WebSocket- are refused too, because
  /// the client sets them.
  header_list headers = {};
  /// The offered subprotocols. If there are any, the other end must choose one of them.
  std::vector<std::string> protocols = {};
  /// The time limit for the reply. 0: the limit of the client's options.
  std::chrono::milliseconds timeout{0};
  detail::session_factory session;

  [[nodiscard]] std::size_t owned_bytes() const noexcept;
};

/// Makes sessions of type S by S(http::websocket, args...), each with copies of the arguments.
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

/// Checks a connect_websocket without connecting. Returns the problem if it is invalid.
[[nodiscard]] std::optional<std::string> validate(const connect_websocket& with);

/// The result of a connect_websocket.
struct connected {
  client_error error = client_error::none;
  std::string why = {};
  /// The status of the response: 101 on success, 0 without a response.
  unsigned status = 0;
  http::websocket socket = {};  // the same one that the session has

  [[nodiscard]] explicit operator bool() const noexcept { return error == client_error::none; }
};

/// Counters of a client since its creation.
struct client_statistics {
  std::uint64_t connections = 0;  // now, idle ones included
  std::uint64_t websockets = 0;   // now
  std::uint64_t waiting = 0;      // requests without a connection, now
  std::uint64_t connected = 0;    // connections ever made, without WebSockets
  std::uint64_t requests = 0;     // accepted
  std::uint64_t answered = 0;     // that got a response
  std::uint64_t failed = 0;       // that ended with an error
  std::uint64_t reused = 0;       // requests on a connection that had served another before
  std::uint64_t repeated = 0;     // requests retried because an idle connection had just closed
};

/// Asks an http::client for its counters. The reply is client_statistics.
struct count_client {};

namespace detail {
class client_pool;
class outgoing_websocket;
struct site;
}  // namespace detail

/// An HTTP/1.1 client for requests and WebSockets, with TLS where the URL requires it. Idle
/// connections are kept for later requests, within the limits of its options.
///
///   net::loop loop(system);
///   auto client = http::client::spawn(system, loop);
///   http::fetched got = client.ask<http::fetch>(no_timeout, what).get().value();
///
/// A request is retried once if it fails before its response has begun, on a connection that was
/// kept idle, and its method is safe to repeat (GET, HEAD, OPTIONS, PUT, DELETE): the other end may
/// have closed the connection at the same moment. No other request is ever sent twice.
///
/// Threads:   an actor bound to the loop; its completion handlers run there too. Requests from any
///            thread.
/// Invariant: each request gets a reply within its time limit, also when the client stops:
///            client_error::stopped. The client lives as long as a request is pending. Open
///            WebSockets outlive the client.
/// Cost:      names are resolved on a separate thread of the loop, one at a time, because
///            getaddrinfo() blocks. A name server that does not respond therefore delays other
///            look-ups, and the loop's destruction, until the system's resolver gives up.
/// Errors:    of its constructor: std::invalid_argument for a limit of zero, and for trusted
///            certificates that cannot be read.
class client : public actor {
 public:
  client(net::loop& on, client_options options);
  ~client();

  /// Spawns a client on that loop.
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

  const std::shared_ptr<detail::client_pool> pool_;  // also used by its WebSockets
  std::shared_ptr<const detail::site> site_;         // of the WebSockets; null before the first one
  std::unordered_map<address, ref<detail::outgoing_websocket>> websockets_;
  timer alarm_;
  time_point due_ = time_point::max();
};

}  // namespace troupe::http
