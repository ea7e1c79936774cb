// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::server::detail {

/// Parses "64 KiB": a whole number and B, KiB, MiB, GiB or TiB. Returns nothing for any other text,
/// and for a value that is too large.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
/// Uses the largest unit in which the number is whole.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

/// Parses "500ms": a whole number and ms, s, m or h.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string duration_text(std::chrono::milliseconds of);

}  // namespace troupe::server::detail
