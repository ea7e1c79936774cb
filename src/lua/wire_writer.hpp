// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "value_codec.hpp"

namespace troupe::lua::detail {

/// Appends JSON or CBOR to a string, part by part. The caller is responsible for alternating keys
/// and values, and for the stated number of elements in each container.
///
/// nlohmann's writer is not used: it writes only trees of its own values, which would have to be
/// built first.
class wire_writer {
 public:
  wire_writer(encoding as, std::string& to) noexcept : as_(as), to_(to) {}

  void begin_map(std::size_t pairs);
  /// Returns false and writes nothing if it is not UTF-8.
  [[nodiscard]] bool key(std::string_view name);
  void end_map();

  void begin_array(std::size_t elements);
  /// To be called before each element.
  void element();
  void end_array();

  void null();
  void boolean(bool value);
  void integer(std::int64_t value);
  /// Returns false if JSON has no such number.
  [[nodiscard]] bool number(double value);
  /// Text that is not UTF-8 becomes a byte string in CBOR. Returns false for JSON, which has none.
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
