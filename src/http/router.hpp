// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/http/server.hpp>
#include <troupe/http/session.hpp>
#include <troupe/http/websocket_options.hpp>

#include "file_root.hpp"
#include "metrics_maker.hpp"

namespace troupe::http::detail {

/// Bytes that are part of the program.
struct resource {
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

  std::vector<method> methods;
  std::optional<resource> content;
  ref<metrics_maker> metrics;  // responds to GET
  session_factory session;
  // For the session:
  std::vector<std::string> protocols;
  bool requires_protocol = false;
  std::optional<std::vector<std::string>> kept_headers;

  /// The handler of that method; for HEAD, that of GET. Null if there is no handler.
  [[nodiscard]] const route_handler* find(std::string_view method_name) const noexcept;
  /// "GET, HEAD, POST"
  [[nodiscard]] std::string allowed() const;
};

/// Files below one prefix.
struct mount {
  std::string prefix;  // begins and ends with a slash
  file_root root;
};

/// Finds the handlers of a path.
///
/// Threads: one thread fills it; then any, concurrently.
class router {
 public:
  /// Errors: std::invalid_argument for a path, method or prefix that no request could match, and
  ///         for one that is already taken.
  void add(std::string method, std::string path, route_handler answer);
  void add(std::string path, resource content);
  void add(std::string path, session_factory session, websocket_options how = {});
  void add(std::string path, ref<metrics_maker> metrics);
  void add_files(std::string prefix, const std::filesystem::path& directory);

  /// Throws the exception of add() if metrics at this path are not possible.
  void expect_free_for_metrics(std::string_view path) const;

  [[nodiscard]] const route* find(std::string_view path) const;
  /// The mount with the longest matching prefix, or null.
  [[nodiscard]] const mount* find_files(std::string_view path) const;

  /// Returns true for the methods of HTTP and those for which any route has a handler.
  [[nodiscard]] bool knows(std::string_view method) const noexcept;
  /// The methods that any path allows: "GET, HEAD, OPTIONS".
  [[nodiscard]] std::string allowed() const;

 private:
  route& at(std::string path);

  std::map<std::string, route, std::less<>> routes_;
  std::vector<mount> mounts_;  // longest prefix first
};

}  // namespace troupe::http::detail
