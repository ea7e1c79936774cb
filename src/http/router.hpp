// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/http/server.hpp>
#include <troupe/http/session.hpp>

#include "file_root.hpp"

namespace troupe::http::detail {

/// Bytes that are part of the program.
struct resource {
  std::string content_type;
  std::string_view bytes;
  std::string etag;
};

/// What there is at one path; a page and the WebSocket that it opens may share it.
struct route {
  struct method {
    std::string name;
    handler answer;
  };

  std::vector<method> methods;
  std::optional<resource> content;
  session_factory session;
  std::vector<std::string> protocols;  // of the session
  bool requires_protocol = false;

  /// The handler of that method; that of GET for HEAD. Null if there is none.
  [[nodiscard]] const handler* find(std::string_view method_name) const noexcept;
  /// "GET, HEAD, POST"
  [[nodiscard]] std::string allowed() const;
};

/// Files below one prefix.
struct mount {
  std::string prefix;  // begins and ends with a slash
  file_root root;
};

/// Finds what belongs to a path.
///
/// Threads: filled by one; then any, at once.
class router {
 public:
  /// Errors: std::invalid_argument if the path does not begin with a slash.
  route& at(std::string path);
  void add_files(std::string prefix, const std::filesystem::path& directory);

  [[nodiscard]] const route* find(std::string_view path) const;
  /// The one with the longest prefix, or null.
  [[nodiscard]] const mount* find_files(std::string_view path) const;

 private:
  std::map<std::string, route, std::less<>> routes_;
  std::vector<mount> mounts_;  // longest prefix first
};

}  // namespace troupe::http::detail
