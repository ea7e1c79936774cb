// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::server::detail {

/// "64 KiB": a whole number and B, KiB, MiB, GiB or TiB. Nothing for anything else, and for what is too large.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
/// In the largest unit that leaves it whole.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

/// "500ms": a whole number and ms, s, m or h.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string duration_text(std::chrono::milliseconds of);

}  // namespace troupe::server::detail
