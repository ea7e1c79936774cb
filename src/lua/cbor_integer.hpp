// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::lua::detail {

/// Returns the integer that the bytes encode, in the form of CBOR that encode() writes. Returns
/// nothing for all other bytes.
[[nodiscard]] std::optional<std::int64_t> integer_of_cbor(std::string_view bytes) noexcept;

/// Returns the same bytes that encode() writes.
[[nodiscard]] std::string cbor_of(std::int64_t value);

}  // namespace troupe::lua::detail
