// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/describe.hpp>
#include <boost/mp11/algorithm.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <troupe/http/problem.hpp>
#include <troupe/http/request.hpp>
#include <troupe/http/response.hpp>

namespace troupe::http {

/// Compile error: a value of this type cannot be read from JSON or written to it. Describe a struct
/// with BOOST_DESCRIBE_STRUCT(type, (), (member, …)), and an enum with BOOST_DESCRIBE_ENUM(type,
/// value, …). This type is never defined; the error names it.
template <class T>
struct type_has_no_json_form;

/// An error in one field of a request's body.
struct field_error {
  std::string field;   // a JSON pointer (RFC 6901): "/items/0/price"; "" for the whole body
  std::string detail;  // what is allowed: "must be an integer from 0 to 255"

  friend bool operator==(const field_error&, const field_error&) = default;
};

/// The error of a body that is not the expected JSON.
class invalid_json : public request_error {
 public:
  explicit invalid_json(std::vector<field_error> errors);

  [[nodiscard]] const std::vector<field_error>& errors() const noexcept { return errors_; }
  /// The problem(), with the member "errors": an array of objects with "pointer" and "detail".
  [[nodiscard]] response to_response() const override;

 private:
  std::vector<field_error> errors_;
};

namespace detail {

class json_document;

/// One value of a parsed document, or its absence. Errors are collected in the document.
///
/// Threads: a plain value, valid as long as its document.
class json_cursor {
 public:
  json_cursor(json_document& in, const void* value, const json_cursor* parent,
              std::string_view name, std::size_t index) noexcept
      : in_(&in), value_(value), parent_(parent), name_(name), index_(index) {}

  [[nodiscard]] bool is_absent() const noexcept { return value_ == nullptr; }
  [[nodiscard]] bool is_null() const noexcept;

  // Each returns false, with an error, if the value is something else.
  bool read(bool& into) const;
  bool read(std::string& into) const;
  bool read(double& into) const;
  bool read_integer(std::int64_t& into, std::int64_t least, std::int64_t most) const;
  bool read_unsigned(std::uint64_t& into, std::uint64_t most) const;
  /// Returns the number of elements; nothing, with an error, if it is no array.
  [[nodiscard]] std::optional<std::size_t> elements() const;
  [[nodiscard]] json_cursor element(std::size_t index) const;
  /// Returns false, with an error, if it is no object.
  [[nodiscard]] bool is_object() const;
  [[nodiscard]] json_cursor member(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> names() const;
  /// Adds an error for each member that is not listed.
  void expect_only(const std::vector<std::string_view>& allowed) const;
  void add_error(std::string detail) const;
  /// Returns true if no more errors are reported.
  [[nodiscard]] bool has_all_errors() const noexcept;

 private:
  [[nodiscard]] std::string pointer() const;

  json_document* in_;
  const void* value_;
  const json_cursor* parent_;
  std::string_view name_;
  std::size_t index_;
};

/// A parsed text, and the errors that were found in it.
class json_document {
 public:
  static constexpr std::size_t depth_max = 64;
  static constexpr std::size_t errors_max = 16;

  explicit json_document(std::string_view text);
  ~json_document();
  json_document(const json_document&) = delete;
  json_document& operator=(const json_document&) = delete;

  /// Nothing if the text is not JSON; there is an error then.
  [[nodiscard]] std::optional<json_cursor> root() noexcept;
  void add(std::string pointer, std::string detail);
  [[nodiscard]] std::vector<field_error> take_errors() noexcept;

 private:
  friend class json_cursor;
  struct parsed;

  std::unique_ptr<parsed> value_;
  std::vector<field_error> errors_;
};

template <class T>
concept described_struct = boost::describe::has_describe_members<T>::value;
template <class T>
concept described_enum = boost::describe::has_describe_enumerators<T>::value;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_table = false;
template <class T>
inline constexpr bool is_table<std::map<std::string, T>> = true;

template <class T>
using members_of = boost::describe::describe_members<T, boost::describe::mod_public |
                                                            boost::describe::mod_inherited>;

template <class E>
void read_enum(const json_cursor& from, E& into) {
  std::string name;
  if (!from.read(name)) return;
  bool found = false;
  std::string allowed;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto each) {
    if (name == each.name) {
      into = each.value;
      found = true;
    }
    allowed.append(allowed.empty() ? "must be one of: " : ", ").append(each.name);
  });
  if (!found) from.add_error(std::move(allowed));
}

template <class T>
void read_json(const json_cursor& from, T& into);

template <class T>
void read_struct(const json_cursor& from, T& into) {
  if (!from.is_object()) return;
  std::vector<std::string_view> names;
  boost::mp11::mp_for_each<members_of<T>>([&](auto member) {
    names.push_back(member.name);
    const json_cursor at = from.member(member.name);
    using field = std::remove_cvref_t<decltype(into.*member.pointer)>;
    if (!at.is_absent()) {
      read_json(at, into.*member.pointer);
    } else if constexpr (!is_optional<field>) {
      at.add_error("is required");
    }
  });
  from.expect_only(names);
}

template <class T>
void read_json(const json_cursor& from, T& into) {
  if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
    (void)from.read(into);
  } else if constexpr (std::floating_point<T>) {
    double value = 0;
    if (!from.read(value)) return;
    if (value > std::numeric_limits<T>::max() || value < std::numeric_limits<T>::lowest()) {
      return from.add_error("must be a number within the range of the type");
    }
    into = static_cast<T>(value);
  } else if constexpr (std::signed_integral<T>) {
    std::int64_t value = 0;
    if (from.read_integer(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max())) {
      into = static_cast<T>(value);
    }
  } else if constexpr (std::unsigned_integral<T>) {
    std::uint64_t value = 0;
    if (from.read_unsigned(value, std::numeric_limits<T>::max())) into = static_cast<T>(value);
  } else if constexpr (is_optional<T>) {
    if (from.is_null()) {
      into.reset();
    } else {
      read_json(from, into.emplace());
    }
  } else if constexpr (is_list<T>) {
    const std::optional<std::size_t> size = from.elements();
    into.clear();
    for (std::size_t i = 0; i < size.value_or(0) && !from.has_all_errors(); ++i) {
      typename T::value_type one{};
      read_json(from.element(i), one);
      into.push_back(std::move(one));
    }
  } else if constexpr (is_table<T>) {
    if (!from.is_object()) return;
    into.clear();
    for (const std::string_view name : from.names()) {
      if (from.has_all_errors()) return;
      read_json(from.member(name), into[std::string{name}]);
    }
  } else if constexpr (described_enum<T>) {
    read_enum(from, into);
  } else if constexpr (described_struct<T>) {
    read_struct(from, into);
  } else {
    static_cast<void>(sizeof(type_has_no_json_form<T>));
  }
}

void append_json(std::string& to, std::string_view text);
void append_json(std::string& to, double value);
void append_json_integer(std::string& to, std::int64_t value);
void append_json_unsigned(std::string& to, std::uint64_t value);

template <class T>
void write_json(std::string& to, const T& value) {
  [[maybe_unused]] auto separate = [&to, first = true]() mutable {
    if (!std::exchange(first, false)) to += ',';
  };
  if constexpr (std::same_as<T, bool>) {
    to += value ? "true" : "false";
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    append_json(to, std::string_view{value});
  } else if constexpr (std::floating_point<T>) {
    append_json(to, static_cast<double>(value));
  } else if constexpr (std::signed_integral<T>) {
    append_json_integer(to, value);
  } else if constexpr (std::unsigned_integral<T>) {
    append_json_unsigned(to, value);
  } else if constexpr (is_optional<T>) {
    value ? write_json(to, *value) : void(to += "null");
  } else if constexpr (is_list<T>) {
    to += '[';
    for (const auto& each : value) {
      separate();
      write_json(to, static_cast<const typename T::value_type&>(each));
    }
    to += ']';
  } else if constexpr (is_table<T>) {
    to += '{';
    for (const auto& [name, each] : value) {
      separate();
      append_json(to, name);
      to += ':';
      write_json(to, each);
    }
    to += '}';
  } else if constexpr (described_enum<T>) {
    std::string_view name = "?";
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto each) {
      if (each.value == value) name = each.name;
    });
    append_json(to, name);
  } else if constexpr (described_struct<T>) {
    to += '{';
    boost::mp11::mp_for_each<members_of<T>>([&](auto member) {
      separate();
      append_json(to, std::string_view{member.name});
      to += ':';
      write_json(to, value.*member.pointer);
    });
    to += '}';
  } else {
    static_cast<void>(sizeof(type_has_no_json_form<T>));
  }
}

/// Throws the error for a body that is not announced as JSON.
void expect_json(const request& asked);

}  // namespace detail

/// Reads a text into a value. Possible types are bool, numbers, std::string, std::optional,
/// std::vector, std::map with std::string keys, and structs and enums that Boost.Describe
/// describes:
///
///     struct transfer {
///       std::string to;
///       std::uint32_t cents;
///       std::optional<std::string> note;
///     };
///     BOOST_DESCRIBE_STRUCT(transfer, (), (to, cents, note))
///
/// The text has to match exactly: only an optional member may be missing or null, members that the
/// struct does not have are errors, and so are numbers that do not fit. The value is unspecified if
/// there are errors. At most 16 errors are reported. Arrays and objects may be nested 64 deep.
///
/// Threads: any.
/// Errors:  std::bad_alloc.
template <class T>
[[nodiscard]] std::vector<field_error> from_json(std::string_view text, T& into) {
  detail::json_document document(text);
  if (const auto root = document.root()) detail::read_json(*root, into);
  return document.take_errors();
}

/// Returns the text of a value; see from_json(). Strings that are not UTF-8 are written with
/// U+FFFD in the place of the invalid bytes, and numbers that are not finite as null.
template <class T>
[[nodiscard]] std::string to_json(const T& value) {
  std::string text;
  detail::write_json(text, value);
  return text;
}

/// Returns a response with the value as its body.
template <class T>
[[nodiscard]] response json(const T& value, unsigned status = 200) {
  return response::json(to_json(value), status);
}

template <class T>
T request::json() const {
  detail::expect_json(*this);
  T value{};
  if (auto errors = from_json(body(), value); !errors.empty()) {
    throw invalid_json(std::move(errors));
  }
  return value;
}

}  // namespace troupe::http
