// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "value_codec.hpp"

namespace troupe::lua::detail {

/// Appends JSON or CBOR to a string, one piece after the other. Who writes sees to it that keys and values
/// take turns, and that containers have as many as was said.
///
/// It is not nlohmann's, which writes only what has become a tree of its own values first.
class wire_writer {
 public:
  wire_writer(encoding as, std::string& to) noexcept : as_(as), to_(to) {}

  void begin_map(std::size_t pairs);
  /// False: it is not UTF-8, and nothing has been written.
  [[nodiscard]] bool key(std::string_view name);
  void end_map();

  void begin_array(std::size_t elements);
  /// Before each.
  void element();
  void end_array();

  void null();
  void boolean(bool value);
  void integer(std::int64_t value);
  /// False: JSON has no such number.
  [[nodiscard]] bool number(double value);
  /// What is not UTF-8 becomes a byte string in CBOR. False: JSON has none.
  [[nodiscard]] bool string(std::string_view value);

 private:
  void separate();
  void head(std::uint8_t major, std::uint64_t argument);
  template <class Bits>
  void big_endian(std::uint8_t initial, Bits bits);
  void quoted(std::string_view text);

  const encoding as_;
  std::string& to_;
  bool first_ = true;
};

}  // namespace troupe::lua::detail
