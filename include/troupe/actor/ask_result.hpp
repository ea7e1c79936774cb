// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <troupe/actor/events.hpp>
#include <troupe/base/assert.hpp>

namespace troupe {

/// The exception that ask_result::value() throws.
class ask_failed : public std::runtime_error {
 public:
  ask_failed(ask_error error, const std::string& text) : std::runtime_error(text), error_(error) {}
  [[nodiscard]] ask_error error() const noexcept { return error_; }

 private:
  ask_error error_;
};

/// The result of a request: a reply, or an error.
///
/// Cost: the size of the reply and at most 16 bytes; the heap is used only for the text of a wait
///       cycle.
template <class T>
class [[nodiscard]] ask_result {
 public:
  using value_type = T;

  ask_result(T answer) : held_(std::in_place_index<0>, std::move(answer)) {}
  ask_result(ask_error error, std::unique_ptr<std::string> cycle = nullptr) noexcept
      : held_(std::in_place_index<1>, failure{error, std::move(cycle)}) {}

  [[nodiscard]] bool has_value() const noexcept { return held_.index() == 0; }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  // Require a reply; without one, this is a broken contract, which prints a line and aborts.
  [[nodiscard]] T& operator*() & noexcept { return *checked(); }
  [[nodiscard]] const T& operator*() const& noexcept {
    return *const_cast<ask_result*>(this)->checked();
  }
  [[nodiscard]] T&& operator*() && noexcept { return std::move(*checked()); }
  [[nodiscard]] T* operator->() noexcept { return checked(); }
  [[nodiscard]] const T* operator->() const noexcept {
    return const_cast<ask_result*>(this)->checked();
  }

  /// Returns the reply.
  /// Errors: ask_failed, with message() as its text.
  [[nodiscard]] T& value() & {
    throw_if_none();
    return *std::get_if<0>(&held_);
  }
  [[nodiscard]] T&& value() && {
    throw_if_none();
    return std::move(*std::get_if<0>(&held_));
  }
  [[nodiscard]] T value_or(T otherwise) && {
    return has_value() ? std::move(*std::get_if<0>(&held_)) : std::move(otherwise);
  }

  /// Returns the error. Requires that there is no reply.
  [[nodiscard]] ask_error error() const noexcept {
    const failure* const none = std::get_if<1>(&held_);
    TROUPE_EXPECTS(
        none != nullptr,
        "ask_result::error() was called on a result with a value: check has_value() first");
    return none->error;
  }

  /// Returns the error as text: "timeout", or, if actors wait for each other's replies in a cycle,
  /// "timeout: clerk waits for teller, which waits for clerk". Empty if there is a reply.
  [[nodiscard]] std::string message() const {
    const failure* const none = std::get_if<1>(&held_);
    if (none == nullptr) return {};
    std::string text(to_string(none->error));
    if (none->cycle != nullptr) text += ": " + *none->cycle;
    return text;
  }

 private:
  struct failure {
    ask_error error;
    std::unique_ptr<std::string> cycle;
  };

  T* checked() noexcept {
    T* const answer = std::get_if<0>(&held_);
    TROUPE_EXPECTS(answer != nullptr,
                   "the value of an ask_result without a value was used: check has_value() first");
    return answer;
  }
  void throw_if_none() const {
    if (!has_value()) throw ask_failed(error(), "ask() failed: " + message());
  }

  std::variant<T, failure> held_;
};

}  // namespace troupe
