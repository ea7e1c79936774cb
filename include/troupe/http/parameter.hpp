// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace troupe::http {

/// Reads a value from the decoded text of a parameter, for request::path<T>() and
/// request::query<T>(). It has two functions:
///
///     static std::optional<T> read(std::string_view text);  // nothing: the text is invalid
///     static std::string allowed();                          // for the error: "an even number"
///
/// A type of the program has a function `from_parameter` instead, and optionally the text of
/// allowed():
///
///     struct color {
///       static constexpr std::string_view allowed_parameters = "red or blue";
///       static std::optional<color> from_parameter(std::string_view text);
///     };
///
/// For other types, for example enumerations, specialize parameter_reader.
template <class T>
struct parameter_reader {};

namespace detail {

template <class T>
concept own_parameter = requires(std::string_view text) {
  { T::from_parameter(text) } -> std::same_as<std::optional<T>>;
};
/// The characters are left out: they could mean a text or a number.
template <class T>
concept integer_parameter = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                            !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                            !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

template <class T>
concept parameter = std::copy_constructible<T> && requires(std::string_view text) {
  { parameter_reader<T>::read(text) } -> std::same_as<std::optional<T>>;
  { parameter_reader<T>::allowed() } -> std::convertible_to<std::string>;
};

/// The whole text, and nothing else, is a number in this type's range.
template <class T>
std::optional<T> read_number(std::string_view text) noexcept {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end) return std::nullopt;
  return value;
}

}  // namespace detail

template <class T>
  requires detail::own_parameter<T>
struct parameter_reader<T> {
  static std::optional<T> read(std::string_view text) { return T::from_parameter(text); }
  static std::string allowed() {
    if constexpr (requires { std::string{T::allowed_parameters}; }) {
      return std::string{T::allowed_parameters};
    } else {
      return {};
    }
  }
};

/// Decimal digits; for signed types, also with a minus sign.
template <detail::integer_parameter T>
struct parameter_reader<T> {
  static std::optional<T> read(std::string_view text) noexcept {
    return detail::read_number<T>(text);
  }
  static std::string allowed() {
    return "an integer from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
           std::to_string(std::numeric_limits<T>::max());
  }
};

/// A decimal number, perhaps with an exponent; neither infinite nor "nan".
template <std::floating_point T>
struct parameter_reader<T> {
  static std::optional<T> read(std::string_view text) noexcept {
    const std::optional<T> value = detail::read_number<T>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
  }
  static std::string allowed() { return "a decimal number"; }
};

template <>
struct parameter_reader<bool> {
  static std::optional<bool> read(std::string_view text) noexcept {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    return std::nullopt;
  }
  static std::string allowed() { return "true, false, 1 or 0"; }
};

template <>
struct parameter_reader<std::string> {
  static std::optional<std::string> read(std::string_view text) { return std::string{text}; }
  static std::string allowed() { return "a text"; }
};

/// Only for path parameters: it refers to the text of the request.
template <>
struct parameter_reader<std::string_view> {
  static std::optional<std::string_view> read(std::string_view text) noexcept { return text; }
  static std::string allowed() { return "a text"; }
};

}  // namespace troupe::http
