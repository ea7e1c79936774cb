// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <troupe/http/figures.hpp>
#include <troupe/http/options.hpp>
#include <troupe/http/request.hpp>
#include <troupe/http/response.hpp>
#include <troupe/http/session.hpp>
#include <troupe/http/statistics.hpp>
#include <troupe/http/tls.hpp>
#include <troupe/http/websocket.hpp>
#include <troupe/http/websocket_options.hpp>
#include <troupe/troupe.hpp>

namespace troupe::http {

/// Runs on the thread of the connection that asks, and holds up all others of that thread: it must
/// not wait for anything. With several loops it runs on several threads at once.
using handler = std::function<response(const request&)>;

/// Serves HTTP/1.1 and WebSocket. It owns the threads that sockets live on; its listener and its
/// connections are actors of the system.
///
/// First the routes, then start(). A path is looked for among route(), resource(), websocket(),
/// metrics() and health() by equality, then among files() by the longest prefix. HEAD is answered
/// wherever GET is; a known path with another method is answered with 405.
///
/// Threads: one, which gives no turns to actors. After start() also from others: port(),
///          statistics(), and stop() while the one is in run().
/// Errors:  as its functions say. Nothing that a client does throws here.
///
/// It must be destroyed before the system; shutting the system down first is fine.
class server {
 public:
  /// Errors: std::invalid_argument for a limit of nothing, for no loops, and for an allowed origin
  ///         that is none; tls_error for a certificate or a key that cannot be used.
  explicit server(troupe::system& on, http::options options = {});
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  /// stop().
  ~server();

  /// `method` in capitals. An exception out of the handler is answered with 500 and counted.
  void route(std::string method, std::string path, handler answer);

  /// Files below `directory` at the paths below `prefix`, "index.html" for a directory; with ETag,
  /// Last-Modified and conditional requests. Nothing outside of it is served, whatever a path says
  /// or a symbolic link points to. Files are read on the connection's thread.
  ///
  /// Errors: std::system_error if there is no such directory.
  void files(std::string prefix, const std::filesystem::path& directory);

  /// Bytes that are part of the program, with ETag and conditional requests. They must stay.
  void resource(std::string path, std::string content_type, std::string_view bytes);

  /// One actor of type Session for each WebSocket connection to `path`, on the pool. It is made
  /// with `Session(http::websocket, args...)`, each with a copy of the arguments.
  ///
  /// A session that ends closes its connection with 1000, one that fails with 1011.
  template <session Session, class... Args>
  void websocket(std::string path, Args... args) {
    websocket<Session>(std::move(path), spawn_options{}, std::move(args)...);
  }

  /// The same, each spawned with these options. A client whose message the session's mailbox or a
  /// budget does not let in is not read until it does; one that is too large for them ever to let in
  /// closes with 1009. What drop_newest, drop_oldest or redirect_to do is as they say.
  ///
  /// Options that spawn() refuses close each connection with 1011.
  template <session Session, class... Args>
  void websocket(std::string path, spawn_options how, Args... args) {
    websocket<Session>(std::move(path), websocket_options{.spawn = std::move(how)},
                       std::move(args)...);
  }

  /// The same, with subprotocols.
  ///
  /// Errors: std::invalid_argument for a subprotocol whose name is no token of HTTP, and if one is
  ///         required and none is named.
  template <session Session, class... Args>
  void websocket(std::string path, websocket_options options, Args... args) {
    spawn_options how = std::move(options.spawn);
    add_websocket(
        std::move(path), std::move(options),
        [system = &system_, how = std::move(how), args = std::make_tuple(std::move(args)...)](
            http::websocket client) -> std::unique_ptr<detail::session_port> {
          return std::apply(
              [&](const Args&... copied) {
                return std::make_unique<detail::session_of<Session>>(
                    system->spawn<Session>(how, std::move(client), copied...),
                    how.charged_to ? how.charged_to->limit() : no_limit);
              },
              args);
        });
  }

  /// The figures of system and server in the text format of Prometheus, and those of `also` behind them.
  void metrics(std::string path = "/metrics", figure_source also = {});
  /// 200 "ok"; 503 "draining" once drain() has begun.
  void health(std::string path = "/healthz");

  /// Binds, listens and serves.
  ///
  /// Errors: std::system_error that names address and port.
  void start();

  /// The port that it listens on. Only after start().
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Stops accepting, closes WebSockets with 1001 once their sessions have handled what was
  /// received, lets requests that have begun be answered, and returns when all connections are
  /// gone. What is left at the deadline is cut. True if nothing was.
  bool drain(std::chrono::milliseconds deadline);

  /// Stops accepting and cuts all connections; sessions get `closed`. run() returns 0, also if it
  /// comes later.
  void stop();

  /// start(), unless that was done; waits for SIGTERM or SIGINT; drains for limits::drain_time.
  /// Then returns 0, for main() to return. A second signal ends the process at once.
  ///
  /// `serving` is called once it listens and a signal would be heard: the moment to say so.
  int run(const std::function<void()>& serving = {});

  /// Serves connections that come from now on with what these files hold now, and speaks with them what these options
  /// say. Those that are there live on with what they began with. Only for a server that was made with TLS.
  ///
  /// Threads: any, also while it serves.
  /// Errors:  tls_error; then everything stays as it was.
  tls_certificate renew_tls(const tls_options& from);
  /// What new connections are served with.
  [[nodiscard]] tls_certificate certificate() const;

  [[nodiscard]] http::statistics statistics() const noexcept;

 private:
  void add_websocket(std::string path, websocket_options how, detail::session_factory make);

  struct state;
  troupe::system& system_;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::http
