// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <troupe/http/parameter.hpp>

namespace troupe::http {

namespace detail {
struct request_access;
struct route_pattern;
}  // namespace detail

/// A request of a client. It owns the text that its views refer to.
///
/// Threads: a plain value.
/// Cost:    one string for the head, one vector for the fields, another string for the body.
class request {
 public:
  /// The method as it was sent, usually in capitals: "GET".
  [[nodiscard]] std::string_view method() const noexcept { return view(method_); }
  /// Returns the target as it was sent: "/rooms/a%20b?x=1".
  [[nodiscard]] std::string_view target() const noexcept { return view(target_); }
  /// The target's path, decoded: "/rooms/a b". It begins with a slash.
  [[nodiscard]] std::string_view path() const noexcept { return view(path_); }
  /// The part after the question mark, still encoded: "x=1".
  [[nodiscard]] std::string_view query() const noexcept { return view(query_); }
  /// The decoded value of the first query parameter of this name; "" if it has no value; nothing if
  /// there is no such parameter.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;

  /// Returns the value of a parameter in the path of the route: of "id" in "/accounts/{id}". It is
  /// decoded, and an escaped slash belongs to it. T is std::string_view, which refers to this
  /// request, std::string, bool, an integer, a floating-point number, or a type with a
  /// parameter_reader.
  ///
  /// Errors: request_error with status 400 if the text is not a T: the server responds with it.
  ///         std::logic_error if the route has no such parameter, which is answered with 500.
  template <class T = std::string_view>
  [[nodiscard]] T path(std::string_view name) const {
    static_assert(detail::parameter<T>,
                  "path<T>() needs a type with a parameter_reader: see parameter.hpp");
    const std::string_view text = path_parameter(name);
    std::optional<T> value = parameter_reader<T>::read(text);
    if (!value) refuse("path", name, text, parameter_reader<T>::allowed());
    return *std::move(value);
  }

  /// Returns the value of the first query parameter of this name; nothing if there is no such
  /// parameter. T as for path<T>(), without std::string_view.
  ///
  /// Errors: request_error with status 400 if the decoded text is not a T, or is not validly
  ///         encoded.
  template <class T>
  [[nodiscard]] std::optional<T> query(std::string_view name) const {
    static_assert(detail::parameter<T> && !std::same_as<T, std::string_view>,
                  "query<T>() needs a type with a parameter_reader, and std::string for texts");
    const std::optional<std::string> text = query_parameter(name);
    if (!text) return std::nullopt;
    std::optional<T> value = parameter_reader<T>::read(*text);
    if (!value) refuse("query", name, *text, parameter_reader<T>::allowed());
    return value;
  }
  /// The same with a value that is used if there is no such parameter.
  template <class T>
  [[nodiscard]] T query(std::string_view name, std::type_identity_t<T> otherwise) const {
    std::optional<T> value = query<T>(name);
    return value ? *std::move(value) : std::move(otherwise);
  }

  /// The value of the first header of this name, ignoring case; "" if there is no such header.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
  [[nodiscard]] bool has_header(std::string_view name) const noexcept;
  /// Returns the value of the first cookie of this name, as it was sent; nothing if there is no
  /// such cookie. Pairs that are not as RFC 6265 defines them are skipped. Other hosts of the
  /// domain may have set it, unless its name begins with "__Host-". See set_cookie.
  [[nodiscard]] std::optional<std::string_view> cookie(std::string_view name) const noexcept;

  [[nodiscard]] const std::string& body() const noexcept { return body_; }
  /// Reads the body as JSON, as from_json() does. Include <troupe/http/json.hpp>.
  ///
  /// Errors: request_error with status 415 if Content-Type is not one of JSON; invalid_json, with
  ///         status 400, which lists what is wrong. The server responds with them.
  template <class T>
  [[nodiscard]] T json() const;
  /// Attaches a value for handlers and middleware that get the request afterwards. A value of the
  /// same type is replaced.
  template <std::copy_constructible T>
  void attach(T value) {
    for (std::any& each : attached_) {
      if (each.type() == typeid(T)) return void(each = std::move(value));
    }
    attached_.emplace_back(std::move(value));
  }
  /// Returns the attached value of this type, or null.
  template <class T>
  [[nodiscard]] const T* attached() const noexcept {
    for (const std::any& each : attached_) {
      if (const T* const value = std::any_cast<T>(&each)) return value;
    }
    return nullptr;
  }

  /// The client's address, without the port: "127.0.0.1". It is the address that the connection
  /// came from, or the one that a trusted proxy names (http::options::trusted_proxies).
  [[nodiscard]] std::string_view peer() const noexcept { return view(peer_); }
  /// Returns true if the request was received over TLS.
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
    if (s.begin > head_.size()) return {};  // the request has been moved from
    return std::string_view{head_}.substr(s.begin, s.size);
  }
  const field* find(std::string_view name) const noexcept;
  std::string_view path_parameter(std::string_view name) const;
  std::optional<std::string> query_parameter(std::string_view name) const;
  [[noreturn]] static void refuse(std::string_view where, std::string_view name,
                                  std::string_view text, std::string_view allowed);

  std::string head_;
  std::string body_;
  std::vector<field> fields_;
  slice method_;
  slice target_;
  slice path_;
  slice sent_path_;  // empty if it has no escapes
  slice query_;
  slice peer_;
  bool secure_ = false;
  std::vector<std::any> attached_;
  std::shared_ptr<const detail::route_pattern> pattern_;  // null: without parameters
};

}  // namespace troupe::http
