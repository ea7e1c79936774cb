// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/http/handler.hpp>
#include <troupe/http/request.hpp>
#include <troupe/http/response.hpp>
#include <troupe/http/session.hpp>
#include <troupe/http/websocket_options.hpp>
#include <troupe/troupe.hpp>

namespace troupe::http {

namespace detail {
class router;
}

/// One route of a server or of a set of routes.
struct route_entry {
  enum class kind : std::uint8_t { route, resource, websocket, metrics, files };

  std::string method;   // of files, resources, metrics and WebSockets: "GET"
  std::string pattern;  // "/accounts/{id}"; of files: their prefix, "/static/"
  kind what = kind::route;

  friend bool operator==(const route_entry&, const route_entry&) = default;
};

/// Returns one line for a log: "GET /accounts/{id}, POST /accounts, GET /chat (websocket)".
[[nodiscard]] std::string to_string(const std::vector<route_entry>& all);

/// A set of routes that is built apart, for example by a module of a program, and then mounted
/// below a prefix of a server or of another set:
///
///     http::routes accounts;
///     accounts.get("/{id}", [](const http::request& r) { … r.path<std::uint64_t>("id") … });
///     server.mount("/api/v1/accounts", accounts);
///
/// Its functions are those of http::server, with the same errors. A set may be mounted several
/// times; each time, its handlers are copied.
///
/// Threads: one.
class routes {
 public:
  routes();
  routes(routes&&) noexcept;
  routes& operator=(routes&&) noexcept;
  ~routes();

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
  void del(std::string path, handler answer, route_options how = {}) {
    route("DELETE", std::move(path), std::move(answer), how);
  }
  void files(std::string prefix, const std::filesystem::path& directory);
  void resource(std::string path, std::string content_type, std::string_view bytes);

  template <session Session, class... Args>
  void websocket(std::string path, Args... args) {
    websocket<Session>(std::move(path), spawn_options{}, std::move(args)...);
  }
  template <session Session, class... Args>
  void websocket(std::string path, spawn_options how, Args... args) {
    websocket<Session>(std::move(path), websocket_options{.spawn = std::move(how)},
                       std::move(args)...);
  }
  template <session Session, class... Args>
  void websocket(std::string path, websocket_options options, Args... args) {
    spawn_options how = std::move(options.spawn);
    add_websocket(std::move(path), std::move(options),
                  detail::make_sessions<Session>(std::move(how), std::move(args)...));
  }

  /// Adds all routes of another set below a prefix. As server::mount().
  void mount(std::string_view prefix, const routes& of);

  /// All routes, ordered by pattern and method.
  [[nodiscard]] std::vector<route_entry> entries() const;
  /// Returns the pattern of the route for this target, whatever the method; for files, their
  /// prefix; "" if the response would be 404. For tests of a set: "/accounts/7?x=1" gives
  /// "/accounts/{id}".
  ///
  /// Errors: std::invalid_argument for a target that no request can have.
  [[nodiscard]] std::string pattern_of(std::string_view target) const;

 private:
  friend class server;

  void add_websocket(std::string path, websocket_options how, detail::session_maker make);

  std::unique_ptr<detail::router> router_;
};

}  // namespace troupe::http
