// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// The reason why a look-up failed.
enum class not_found : std::uint8_t {
  nothing,         // it did not fail
  not_there,       // the name is not registered, or its actor is terminating
  another_type,    // the name belongs to an actor of another class
  not_understood,  // its class does not list all of these messages, or lists none
};

/// Thrown by found::value().
class name_error : public std::runtime_error {
 public:
  name_error(not_found why, const std::string& text) : std::runtime_error(text), why_(why) {}
  [[nodiscard]] not_found error() const noexcept { return why_; }

 private:
  not_found why_;
};

namespace detail {

struct miss {
  not_found why = not_found::nothing;
  std::string name;             // the name that was looked up
  std::string_view asked;       // the requested class, or the first message not understood
  std::string_view registered;  // the class of the registered actor
};

[[nodiscard]] std::string to_string(const miss& what);

}  // namespace detail

/// The result of a look-up: a ref or a recipient, or the reason for the failure.
template <class Handle>
class found {
 public:
  found(Handle handle) noexcept : handle_(std::move(handle)) {}
  found(detail::miss what) noexcept : miss_(std::move(what)) {}

  [[nodiscard]] explicit operator bool() const noexcept { return error() == not_found::nothing; }
  [[nodiscard]] not_found error() const noexcept { return miss_.why; }

  /// Returns the reason as text, for example: the name "bank/alice" belongs to an actor of the
  /// class clerk, not account.
  [[nodiscard]] std::string message() const { return detail::to_string(miss_); }

  /// Returns the handle; throws name_error if the look-up failed.
  [[nodiscard]] const Handle& value() const& {
    if (!*this) throw name_error(error(), message());
    return handle_;
  }
  [[nodiscard]] Handle value() && {
    if (!*this) throw name_error(error(), message());
    return std::move(handle_);
  }

  /// Returns the handle without a check; it is empty if the look-up failed.
  [[nodiscard]] const Handle& operator*() const noexcept { return handle_; }
  [[nodiscard]] const Handle* operator->() const noexcept { return &handle_; }

 private:
  Handle handle_;
  detail::miss miss_;
};

}  // namespace troupe
