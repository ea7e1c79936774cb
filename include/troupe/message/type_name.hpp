// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace troupe {

/// Returns the name of a type as it is written in the source; computed at compile time.
///
/// Logs, reports and dead letters name messages and actors with it. GCC and Clang agree on it for
/// named classes outside anonymous namespaces. It is meant for people; do not store it as a key.
template <class T>
[[nodiscard]] constexpr std::string_view type_name() noexcept {
  constexpr std::string_view before = "T = ";
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find(before) + before.size());
  // GCC continues with "; std::string_view = …]", Clang ends with "]".
  return text.substr(0, std::min(text.rfind("; std::string_view = "), text.size() - 1));
}

}  // namespace troupe
