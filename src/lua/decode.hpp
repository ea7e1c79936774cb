// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "value_builder.hpp"

namespace troupe::lua::detail {

struct malformed {
  std::size_t at;  // so many bytes lie before it
  std::string why;
};

/// Give the pieces of one value to a builder; all bytes belong to it.
std::optional<malformed> decode_json(std::string_view bytes, value_builder& to);
std::optional<malformed> decode_cbor(std::string_view bytes, value_builder& to);

}  // namespace troupe::lua::detail
