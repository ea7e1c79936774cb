// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

namespace troupe {

// What a message owns outside of itself. A byte limit or a budget counts it if the message tells:
//
//   struct line {
//     std::string text;
//     std::size_t owned_bytes() const noexcept { return text.capacity(); }
//   };
//
// It must say the same as long as the message waits: it is asked when it is sent, and when it is handled.

namespace detail {

template <class M>
concept has_owned_bytes = requires(const M& m) {
  { m.owned_bytes() } noexcept -> std::convertible_to<std::size_t>;
};

template <has_owned_bytes M>
std::size_t owned_bytes(const M& message) noexcept {
  return message.owned_bytes();
}
inline std::size_t owned_bytes(const std::string& message) noexcept { return message.capacity(); }
template <class T>
std::size_t owned_bytes(const std::vector<T>& message) noexcept {
  return message.capacity() * sizeof(T);
}

template <class M>
concept tells_what_it_owns = requires(const M& m) { owned_bytes(m); };

}  // namespace detail
}  // namespace troupe
