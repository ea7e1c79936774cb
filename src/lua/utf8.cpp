// SPDX-License-Identifier: Apache-2.0

#include "utf8.hpp"

namespace troupe::lua::detail {

std::string_view beginning_of(std::string_view text, std::size_t bytes_max) noexcept {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xc0) == 0x80) --bytes_max;
  return text.substr(0, bytes_max);
}

}  // namespace troupe::lua::detail
