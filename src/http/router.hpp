// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/http/server.hpp>
#include <troupe/http/session.hpp>
#include <troupe/http/websocket_options.hpp>

#include "file_root.hpp"
#include "metrics_maker.hpp"
#include "route_pattern.hpp"
#include "route_tree.hpp"
#include "text_index.hpp"

namespace troupe::http::detail {

/// Bytes that are part of the program.
struct resource {
  /// With an ETag of these bytes.
  [[nodiscard]] static resource of(std::string content_type, std::string_view bytes);

  std::string content_type;
  std::string_view bytes;
  std::string etag;
};

/// The handler of one route, with the options that matter if it is a coroutine.
struct route_handler {
  template <class F>
    requires std::constructible_from<handler, F>
  route_handler(F&& c, route_options how = {}) : call(std::forward<F>(c)), options(how) {}

  handler call;
  route_options options;
};

/// The handlers of one path. A page and the WebSocket that it opens may share a path.
struct route {
  struct method {
    std::string name;
    route_handler answer;
  };

  route_pattern pattern;
  std::shared_ptr<const route_pattern> parameters;  // null: the pattern has no parameters
  std::vector<method> methods;
  std::optional<resource> content;
  ref<metrics_maker> metrics;  // responds to GET
  session_factory session;
  session_maker unbound_session;  // in a set of routes: it has no system yet
  // For the session:
  std::vector<std::string> protocols;
  bool requires_protocol = false;
  std::optional<std::vector<std::string>> kept_headers;

  /// The handler of that method; for HEAD, that of GET. Null if there is no handler.
  [[nodiscard]] const route_handler* find(std::string_view method_name) const noexcept;
  /// "GET, HEAD, OPTIONS, POST"
  [[nodiscard]] std::string allowed() const;
  [[nodiscard]] bool has_session() const noexcept { return session || unbound_session; }
};

/// Files below one prefix.
struct mount {
  std::string prefix;  // begins and ends with a slash
  std::shared_ptr<const file_root> root;
};

/// The methods that files() allow.
inline constexpr std::string_view methods_of_files = "GET, HEAD, OPTIONS";

/// Finds the handlers of a path. A path without parameters is compared with the decoded path of a
/// request, and comes first. The others are found segment by segment, as route_tree describes.
///
/// Threads: one thread fills it; then any, concurrently.
/// Cost:    find() does not depend on the number of routes.
class router {
 public:
  struct match {
    const route* at = nullptr;
    const mount* files = nullptr;  // if `at` is null
  };

  /// Errors: std::invalid_argument for a path, method or prefix that no request could match, and
  ///         for one that is already taken. Then nothing has changed.
  void add(std::string method, std::string path, route_handler answer);
  void add(std::string path, resource content);
  void add(std::string path, session_factory session, websocket_options how = {});
  void add(std::string path, session_maker session, websocket_options how = {});
  void add(std::string path, ref<metrics_maker> metrics);
  void add_files(std::string prefix, const std::filesystem::path& directory);

  /// Throws the exception of add() if metrics at this path are not possible.
  void expect_free_for_metrics(std::string_view path) const;

  /// Makes a session_factory of that of a set.
  using binding = std::function<session_factory(const session_maker&)>;
  /// Adds all routes and files of a set below a prefix, as mounted_path() says. Without a binding,
  /// the sessions remain unbound.
  ///
  /// Errors: as for add(), and for files below a prefix with parameters.
  void add_all(std::string_view prefix, const router& of, const binding& bind = {});

  /// `sent`: the path as it was sent; empty if it has no escapes.
  [[nodiscard]] match find(std::string_view path, std::string_view sent = {}) const;

  /// Returns true for the methods of HTTP and those for which any route has a handler.
  [[nodiscard]] bool knows(std::string_view method) const noexcept;
  /// The methods that any path allows: "GET, HEAD, OPTIONS".
  [[nodiscard]] std::string allowed() const;

  /// All routes and files, ordered by pattern and method.
  [[nodiscard]] std::vector<route_entry> entries() const;

 private:
  [[nodiscard]] const route* find_same(const route_pattern& pattern) const;
  void expect_free_for_files(const route_pattern& prefix) const;
  route& at(route_pattern&& pattern);
  void add_session(std::string path, session_factory session, session_maker unbound,
                   websocket_options&& how);
  void insert_files(route_pattern&& prefix, std::shared_ptr<const file_root> root);

  std::deque<route> routes_;
  std::deque<mount> mounts_;
  text_index literals_;                         // routes without parameters
  route_tree tree_;                             // the others, and files
  std::set<std::string, std::less<>> methods_;  // that any path allows
};

}  // namespace troupe::http::detail
