// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::lua::detail {

/// The integer that the bytes are in CBOR, as encode() writes it; nothing if they are something else.
[[nodiscard]] std::optional<std::int64_t> integer_of_cbor(std::string_view bytes) noexcept;

/// The same bytes as encode() writes.
[[nodiscard]] std::string cbor_of(std::int64_t value);

}  // namespace troupe::lua::detail
