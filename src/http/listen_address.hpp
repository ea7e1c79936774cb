// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace troupe::http::detail {

/// Begins an options::address that is the path of a Unix domain socket.
inline constexpr std::string_view unix_prefix = "unix:";

[[nodiscard]] inline bool is_unix_address(std::string_view address) noexcept {
  return address.starts_with(unix_prefix);
}
[[nodiscard]] inline std::filesystem::path unix_path(std::string_view address) {
  return address.substr(unix_prefix.size());
}

}  // namespace troupe::http::detail
