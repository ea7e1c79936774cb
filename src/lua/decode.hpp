// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "value_builder.hpp"

namespace troupe::lua::detail {

struct malformed {
  std::size_t at;  // number of bytes before it
  std::string why;
};

/// Pass the parts of one value to a builder. All bytes must belong to that value.
std::optional<malformed> decode_json(std::string_view bytes, value_builder& to);
std::optional<malformed> decode_cbor(std::string_view bytes, value_builder& to);

}  // namespace troupe::lua::detail
