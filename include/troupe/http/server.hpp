// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/http/figures.hpp>
#include <troupe/http/handler.hpp>
#include <troupe/http/options.hpp>
#include <troupe/http/request.hpp>
#include <troupe/http/response.hpp>
#include <troupe/http/routes.hpp>
#include <troupe/http/session.hpp>
#include <troupe/http/statistics.hpp>
#include <troupe/http/tls.hpp>
#include <troupe/http/websocket.hpp>
#include <troupe/http/websocket_options.hpp>
#include <troupe/troupe.hpp>

namespace troupe::http {

/// An HTTP/1.1 and WebSocket server. It owns the threads that serve sockets; its listener and its
/// connections are actors of the system.
///
/// Add the routes first, then call start(). The path of a route may have parameters:
/// "/accounts/{id}" matches one segment that is not empty, "/files/{rest...}" all further segments.
/// A handler reads them with request::path<T>().
///
/// A path without parameters is compared with the decoded path of a request, and comes first. The
/// other ones are found segment by segment, as the client has sent them: an escaped slash, %2F,
/// belongs to its segment. At each segment, a literal comes before a parameter, this before
/// {name...}, and this before files(). If the search fails below one of them, it tries the next.
///
/// The method is looked at last, so only the route found for the path counts. HEAD is supported
/// wherever GET is. OPTIONS is answered with 204 and Allow, unless the route has a handler for it.
/// A known path with an unsupported method is answered with 405 and Allow; a method that neither
/// HTTP nor a route defines, with 501.
///
/// Threads: one, which must not be in a turn of an actor or run a pump. After start() other threads
///          may call port() and statistics(), and stop() while the first one is in run().
/// Errors:  std::invalid_argument for a route that no request could match or that already exists,
///          std::logic_error for a route added after start(); otherwise as documented for each
///          function. Client input never causes an exception here.
///
/// It must be destroyed before the system; otherwise the destructor of the system aborts. Shutting
/// the system down first is allowed.
class server {
 public:
  /// Creates a server that does not listen yet; see start().
  ///
  /// Errors: std::invalid_argument for a limit of zero, for zero loops, for an invalid allowed
  ///         origin, host name or trusted proxy, and for trusted proxies of a Unix socket;
  ///         tls_error for an unusable certificate or key.
  explicit server(troupe::system& on, http::options options = {});
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  /// Calls stop().
  ~server();

  /// Adds a route. `method` in capitals, `path` decoded: "GET", "/rooms/{name}". An exception of
  /// the handler is answered with 500 and counted. A request_error has a response of its own.
  ///
  /// Errors: std::invalid_argument also for a timeout that is not positive.
  void route(std::string method, std::string path, handler answer, route_options how = {});
  void get(std::string path, handler answer, route_options how = {}) {
    route("GET", std::move(path), std::move(answer), how);
  }
  void post(std::string path, handler answer, route_options how = {}) {
    route("POST", std::move(path), std::move(answer), how);
  }
  void put(std::string path, handler answer, route_options how = {}) {
    route("PUT", std::move(path), std::move(answer), how);
  }
  void patch(std::string path, handler answer, route_options how = {}) {
    route("PATCH", std::move(path), std::move(answer), how);
  }
  /// The method DELETE; `delete` is a keyword.
  void del(std::string path, handler answer, route_options how = {}) {
    route("DELETE", std::move(path), std::move(answer), how);
  }

  /// Adds all routes of a set below a prefix, for example "/api/v1". They can read its parameters.
  /// The route "/" of the set gets the path of the prefix itself.
  ///
  /// Errors: std::invalid_argument if one of them conflicts with a route that exists; then none has
  ///         been added. Also for a prefix that ends with a slash or with {name...}.
  void mount(std::string_view prefix, const http::routes& of);

  /// All routes, ordered by pattern and method. See to_string() for a log line.
  [[nodiscard]] std::vector<route_entry> routes() const;

  /// Serves the files below `directory` at the paths below `prefix`, and "index.html" for a
  /// directory, with ETag, Last-Modified and conditional requests. Files outside of `directory` are
  /// never served, whatever the path or a symbolic link says. Files are read on the connection's
  /// thread.
  ///
  /// Errors: std::system_error if there is no such directory.
  void files(std::string prefix, const std::filesystem::path& directory);

  /// Serves bytes that are part of the program, with ETag and conditional requests. `bytes` must
  /// outlive the server.
  void resource(std::string path, std::string content_type, std::string_view bytes);

  /// Serves WebSocket connections to `path`. Each connection has an actor of type Session, on the
  /// pool, which is constructed as `Session(http::websocket, args...)`, with copies of the
  /// arguments.
  ///
  /// A session that terminates normally closes its connection with 1000, one that fails with 1011.
  template <session Session, class... Args>
  void websocket(std::string path, Args... args) {
    websocket<Session>(std::move(path), spawn_options{}, std::move(args)...);
  }

  /// Serves WebSocket connections to `path` as above, with spawn options for each session. While
  /// the session's mailbox or a budget refuses a message, the client is not read. A message that is
  /// too large ever to be accepted closes the connection with 1009. The policies drop_newest,
  /// drop_oldest and redirect_to apply as usual.
  ///
  /// Options that spawn() rejects close each connection with 1011.
  template <session Session, class... Args>
  void websocket(std::string path, spawn_options how, Args... args) {
    websocket<Session>(std::move(path), websocket_options{.spawn = std::move(how)},
                       std::move(args)...);
  }

  /// Serves WebSocket connections to `path` as above, with all options, for example subprotocols.
  ///
  /// Errors: std::invalid_argument for a subprotocol whose name is not a token of HTTP, and if a
  ///         subprotocol is required and none is given.
  template <session Session, class... Args>
  void websocket(std::string path, websocket_options options, Args... args) {
    spawn_options how = std::move(options.spawn);
    add_websocket(std::move(path), std::move(options),
                  detail::make_sessions<Session>(std::move(how), std::move(args)...));
  }

  /// Serves the metrics of the system and the server in the Prometheus text format, followed by
  /// those of `also`. The text is made by an actor with its own thread, so that neither a large
  /// text nor `also` delays the connections. Clients that ask at the same time share one text.
  ///
  /// The text has at most limits::metrics_bytes. If it is not made within limits::request_timeout,
  /// the response is 503.
  ///
  /// Errors: std::system_error if the thread cannot be started.
  void metrics(std::string path = "/metrics", figure_source also = {});
  /// Serves the health check: 200 "ok"; 503 "draining" after drain() has begun.
  void health(std::string path = "/healthz");

  /// The same for another server of the system, so that operators use another listener than
  /// clients. While the other one drains, this one continues to respond:
  ///
  ///     http::server site(system, {.port = 8080});
  ///     http::server admin(system, http::admin_options("127.0.0.1:9180"));
  ///     admin.metrics_of(site);
  ///     admin.health_of(site);
  ///     admin.start();
  ///     return site.run();
  ///
  /// After the other one is destroyed, metrics are answered with 500 and health with 503.
  void metrics_of(const server& other, std::string path = "/metrics", figure_source also = {});
  void health_of(const server& other, std::string path = "/healthz");

  /// Binds, listens and serves.
  ///
  /// Errors: std::system_error that names the address and the port; std::logic_error if called
  ///         twice.
  void start();

  /// Returns the port that the server listens on; 0 for a Unix domain socket. Valid only after
  /// start().
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Shuts down gracefully: stops accepting, closes each WebSocket with 1001 when its session has
  /// handled the messages received, and completes requests that have begun. Returns when all
  /// connections are closed. Connections still open at the deadline are reset. Returns true if no
  /// connection had to be reset.
  bool drain(std::chrono::milliseconds deadline);

  /// Stops accepting and resets all connections; sessions get `closed`. run() returns 0, also if it
  /// is called later.
  void stop();

  /// Calls start() if necessary, waits for SIGTERM or SIGINT, and drains for limits::drain_timeout.
  /// Returns 0, for main() to return. A second signal terminates the process at once.
  ///
  /// `serving` is called when the server listens and signals are caught, for example to report
  /// readiness.
  int run(const std::function<void()>& serving = {});

  /// Renews the certificate: connections made from now on use the current contents of these files,
  /// and these options. Existing connections are not affected. Only for a server that was created
  /// with TLS.
  ///
  /// Threads: any, also while it serves.
  /// Errors:  tls_error; then nothing changes.
  tls_certificate renew_tls(const tls_options& from);
  /// Returns the certificate that is used for new connections.
  [[nodiscard]] tls_certificate certificate() const;

  [[nodiscard]] http::statistics statistics() const noexcept;

 private:
  struct state;

  void add_websocket(std::string path, websocket_options how, detail::session_maker make);
  detail::session_factory bound(detail::session_maker make) const;
  void add_metrics(std::string path, const state& of, figure_source also);
  void add_health(std::string path, const state& of);

  troupe::system& system_;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::http
