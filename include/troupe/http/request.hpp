// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::http {

namespace detail {
struct request_access;
}

/// A request of a client. It owns the text that its views refer to.
///
/// Threads: a plain value.
/// Cost:    one string for the head, one vector for the fields, another string for the body.
class request {
 public:
  /// The method as it was sent, usually in capitals: "GET".
  [[nodiscard]] std::string_view method() const noexcept { return view(method_); }
  /// As it was sent: "/rooms/a%20b?x=1".
  [[nodiscard]] std::string_view target() const noexcept { return view(target_); }
  /// The target's path, decoded: "/rooms/a b". It begins with a slash.
  [[nodiscard]] std::string_view path() const noexcept { return view(path_); }
  /// The part after the question mark, still encoded: "x=1".
  [[nodiscard]] std::string_view query() const noexcept { return view(query_); }
  /// The decoded value of the first query parameter of this name; "" if it has no value; nothing if
  /// there is no such parameter.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;

  /// The value of the first header of this name, ignoring case; "" if there is no such header.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
  [[nodiscard]] bool has_header(std::string_view name) const noexcept;

  [[nodiscard]] const std::string& body() const noexcept { return body_; }
  /// The client's address, without the port: "127.0.0.1". It is the address that the connection
  /// came from, or the one that a trusted proxy names (http::options::trusted_proxies).
  [[nodiscard]] std::string_view peer() const noexcept { return view(peer_); }
  /// True if it was received over TLS.
  [[nodiscard]] bool secure() const noexcept { return secure_; }

 private:
  friend struct detail::request_access;

  struct slice {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  struct field {
    slice name;
    slice value;
  };

  std::string_view view(slice s) const noexcept {
    return std::string_view{head_}.substr(s.begin, s.size);
  }
  const field* find(std::string_view name) const noexcept;

  std::string head_;
  std::string body_;
  std::vector<field> fields_;
  slice method_;
  slice target_;
  slice path_;
  slice query_;
  slice peer_;
  bool secure_ = false;
};

}  // namespace troupe::http
