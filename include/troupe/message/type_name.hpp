// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace troupe {

/// The name of a type as it is written in the source, made at compile time.
///
/// Logs, reports and dead letters call messages and actors by it. GCC and Clang agree on it for
/// named classes outside anonymous namespaces; it is for people, not a key to store.
template <class T>
[[nodiscard]] constexpr std::string_view type_name() noexcept {
  constexpr std::string_view before = "T = ";
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find(before) + before.size());
  // GCC goes on with «; std::string_view = …]», Clang ends with «]».
  return text.substr(0, std::min(text.rfind("; std::string_view = "), text.size() - 1));
}

}  // namespace troupe
