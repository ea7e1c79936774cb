// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <checker/engine.hpp>
#include <cstddef>
#include <new>

// The interface of include/troupe/memory/pages.hpp. The checker finds pages that are used after
// they were given back, and pages that never are given back.

namespace troupe::detail {

inline constexpr std::size_t page_bytes = 4096;
inline constexpr unsigned address_bits = 48;

[[nodiscard]] inline void* obtain_pages(std::size_t bytes, std::size_t align) {
  return ::operator new(bytes, std::align_val_t{align});
}

inline void return_pages(void* begin, std::size_t, std::size_t align) noexcept {
  ::operator delete(begin, std::align_val_t{align});
}

inline void discard_pages(void* begin, std::size_t bytes) noexcept {
  model::detail::given_back(begin, bytes);
}

inline constexpr std::size_t large_page_bytes = std::size_t{16} << 10;

inline void prefer_large_pages(void*, std::size_t) noexcept {}

}  // namespace troupe::detail
