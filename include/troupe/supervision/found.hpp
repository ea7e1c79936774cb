// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// Why a look-up gave nothing.
enum class not_found : std::uint8_t {
  nothing,         // it gave something
  not_there,       // nobody has that name, or its actor is ending
  another_type,    // an actor of another class has it
  not_understood,  // its actor does not understand all of these messages, or does not say so
};

/// As found::value() throws it.
class name_error : public std::runtime_error {
 public:
  name_error(not_found why, const std::string& text) : std::runtime_error(text), why_(why) {}
  [[nodiscard]] not_found why() const noexcept { return why_; }

 private:
  not_found why_;
};

namespace detail {

struct miss {
  not_found why = not_found::nothing;
  std::string name;             // that was asked for
  std::string_view asked;       // the class, or the first message that is not understood
  std::string_view registered;  // the class of who has the name
};

[[nodiscard]] std::string to_string(const miss& what);

}  // namespace detail

/// A ref or a recipient, or why there is none.
template <class Handle>
class found {
 public:
  found(Handle handle) noexcept : handle_(std::move(handle)) {}
  found(detail::miss what) noexcept : miss_(std::move(what)) {}

  [[nodiscard]] explicit operator bool() const noexcept { return why() == not_found::nothing; }
  [[nodiscard]] not_found why() const noexcept { return miss_.why; }

  /// For people: the name "bank/alice" belongs to an actor of the class clerk, not account
  [[nodiscard]] std::string error() const { return detail::to_string(miss_); }

  /// Throws name_error if there is none.
  [[nodiscard]] const Handle& value() const& {
    if (!*this) throw name_error(why(), error());
    return handle_;
  }
  [[nodiscard]] Handle value() && {
    if (!*this) throw name_error(why(), error());
    return std::move(handle_);
  }

  /// Without a look: an empty handle if there is none.
  [[nodiscard]] const Handle& operator*() const noexcept { return handle_; }
  [[nodiscard]] const Handle* operator->() const noexcept { return &handle_; }

 private:
  Handle handle_;
  detail::miss miss_;
};

}  // namespace troupe
