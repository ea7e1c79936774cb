// SPDX-License-Identifier: Apache-2.0

#include "cbor_integer.hpp"

#include <limits>

namespace troupe::lua::detail {

// RFC 8949, 3.1: the upper three bits are the type, which is 0, or 1 for -1 - n. The other bits are
// n, or say that the following 1, 2, 4 or 8 bytes contain it.
std::optional<std::int64_t> integer_of_cbor(std::string_view bytes) noexcept {
  if (bytes.empty()) return std::nullopt;
  const auto head = static_cast<unsigned char>(bytes.front());
  const unsigned type = head >> 5;
  const unsigned info = head & 0x1f;
  if (type > 1 || info > 27) return std::nullopt;
  const std::size_t more = info < 24 ? 0 : std::size_t{1} << (info - 24);
  if (bytes.size() != 1 + more) return std::nullopt;
  std::uint64_t n = info < 24 ? info : 0;
  for (const char c : bytes.substr(1)) n = n << 8 | static_cast<unsigned char>(c);
  if (n > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  const auto value = static_cast<std::int64_t>(n);
  return type == 0 ? value : -1 - value;
}

std::string cbor_of(std::int64_t value) {
  const unsigned type = value < 0 ? 0x20 : 0;
  const auto n = static_cast<std::uint64_t>(value < 0 ? -(value + 1) : value);
  std::string bytes;
  if (n < 24) {
    bytes += static_cast<char>(type | static_cast<unsigned>(n));
    return bytes;
  }
  unsigned info = 24;
  std::size_t more = 1;
  while (more < 8 && n >> (8 * more) != 0) {
    more *= 2;
    ++info;
  }
  bytes += static_cast<char>(type | info);
  for (std::size_t i = more; i-- > 0;) bytes += static_cast<char>(n >> (8 * i) & 0xff);
  return bytes;
}

}  // namespace troupe::lua::detail
