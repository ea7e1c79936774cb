// SPDX-License-Identifier: Apache-2.0

#include "wire_writer.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "utf8.hpp"

namespace troupe::lua::detail {
namespace {

template <class Number>
void append_digits(std::string& to, Number value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  to.append(digits.data(), end);
}

// For each ASCII character in a JSON string: 0 means unchanged, 'u' means \u00XX, and other values
// follow a backslash.
constexpr auto escapes = [] {
  std::array<char, 256> table{};
  for (std::size_t c = 0; c < 0x20; ++c) table[c] = 'u';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['"'] = '"';
  table['\\'] = '\\';
  return table;
}();

}  // namespace

void wire_writer::separate() {
  if (as_ == encoding::json && !first_) to_ += ',';
  first_ = false;
}

void wire_writer::begin_map(std::size_t pairs) {
  if (as_ == encoding::cbor) return head(5, pairs);
  to_ += '{';
  first_ = true;
}

bool wire_writer::key(std::string_view name) {
  if (!is_utf8(name)) return false;
  separate();
  if (as_ == encoding::cbor) {
    head(3, name.size());
    to_ += name;
  } else {
    quoted(name);
    to_ += ':';
  }
  return true;
}

void wire_writer::end_map() {
  if (as_ == encoding::json) to_ += '}';
  first_ = false;
}

void wire_writer::begin_array(std::size_t elements) {
  if (as_ == encoding::cbor) return head(4, elements);
  to_ += '[';
  first_ = true;
}

void wire_writer::element() { separate(); }

void wire_writer::end_array() {
  if (as_ == encoding::json) to_ += ']';
  first_ = false;
}

void wire_writer::null() {
  if (as_ == encoding::cbor) {
    to_ += '\xf6';
  } else {
    to_ += "null";
  }
}

void wire_writer::boolean(bool value) {
  if (as_ == encoding::cbor) {
    to_ += value ? '\xf5' : '\xf4';
  } else {
    to_ += value ? "true" : "false";
  }
}

void wire_writer::integer(std::int64_t value) {
  if (as_ == encoding::json) {
    append_digits(to_, value);
  } else if (value >= 0) {
    head(0, static_cast<std::uint64_t>(value));
  } else {
    head(1, ~static_cast<std::uint64_t>(value));
  }
}

bool wire_writer::number(double value) {
  if (as_ == encoding::cbor) {
    if (std::isnan(value)) {
      big_endian(0xf9, std::uint16_t{0x7e00});
    } else if (std::isinf(value) ||
               (std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max()) &&
                std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(value))) ==
                    std::bit_cast<std::uint64_t>(value))) {
      big_endian(0xfa, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    } else {
      big_endian(0xfb, std::bit_cast<std::uint64_t>(value));
    }
    return true;
  }
  if (!std::isfinite(value)) return false;
  const std::size_t begin = to_.size();
  append_digits(to_, value);
  // So that it is read as a float again.
  if (to_.find_first_of(".e", begin) == std::string::npos) to_ += ".0";
  return true;
}

bool wire_writer::string(std::string_view value) {
  const bool is_text = is_utf8(value);
  if (as_ == encoding::json) {
    if (is_text) quoted(value);
    return is_text;
  }
  head(is_text ? 3 : 2, value.size());
  to_ += value;
  return true;
}

void wire_writer::head(std::uint8_t major, std::uint64_t argument) {
  const auto initial = static_cast<std::uint8_t>(major << 5);
  if (argument < 24) {
    to_ += static_cast<char>(initial | argument);
  } else if (argument <= 0xff) {
    big_endian(initial | 24, static_cast<std::uint8_t>(argument));
  } else if (argument <= 0xffff) {
    big_endian(initial | 25, static_cast<std::uint16_t>(argument));
  } else if (argument <= 0xffff'ffff) {
    big_endian(initial | 26, static_cast<std::uint32_t>(argument));
  } else {
    big_endian(initial | 27, argument);
  }
}

template <class Bits>
void wire_writer::big_endian(std::uint8_t initial, Bits bits) {
  std::array<char, 1 + sizeof(Bits)> bytes;
  bytes[0] = static_cast<char>(initial);
  for (std::size_t i = sizeof(Bits); i > 0; --i) {
    bytes[i] = static_cast<char>(bits & 0xff);
    bits = static_cast<Bits>(static_cast<std::uint64_t>(bits) >> 8);
  }
  to_.append(bytes.data(), bytes.size());
}

void wire_writer::quoted(std::string_view text) {
  to_ += '"';
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const char escape = escapes[c];
    if (escape == 0) continue;
    to_.append(text, begin, i - begin);
    begin = i + 1;
    to_ += '\\';
    to_ += escape;
    if (escape != 'u') continue;
    constexpr char digits[] = "0123456789abcdef";
    to_ += "00";
    to_ += digits[c >> 4];
    to_ += digits[c & 0xf];
  }
  to_.append(text, begin);
  to_ += '"';
}

}  // namespace troupe::lua::detail
