// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "engine.hpp"

// The value of an atomic, as stored in memory.

namespace troupe::model {

inline bits raw_value(detail::cell of) noexcept {
  bits raw = 0;
  std::memcpy(&raw, of.at, of.bytes);
  return raw;
}

inline void set_raw_value(detail::cell of, bits value) noexcept {
  std::memcpy(of.at, &value, of.bytes);
}

inline bits cut(bits value, std::size_t bytes) noexcept {
  return bytes == sizeof(bits) ? value : value & ((bits{1} << (8 * bytes)) - 1);
}
inline bits changed(detail::change how, bits before, bits operand, std::size_t bytes) noexcept {
  switch (how) {
    case detail::change::exchange:
      return operand;
    case detail::change::add:
      return cut(before + operand, bytes);
    case detail::change::subtract:
      return cut(before - operand, bytes);
    case detail::change::bit_and:
      return before & operand;
    case detail::change::bit_or:
      return before | operand;
    case detail::change::bit_xor:
      return before ^ operand;
  }
  return before;
}

}  // namespace troupe::model
