// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>

// What include/troupe/memory/pool.hpp promises, without pooling: the checker watches each block.

namespace troupe {

[[nodiscard]] inline void* pool_allocate(std::size_t bytes) { return ::operator new(bytes); }
inline void pool_release(void* block, std::size_t) noexcept { ::operator delete(block); }

[[nodiscard]] inline void* pool_allocate(std::size_t bytes, std::size_t align) {
  return ::operator new(bytes, std::align_val_t{align});
}
inline void pool_release(void* block, std::size_t, std::size_t align) noexcept {
  ::operator delete(block, std::align_val_t{align});
}

}  // namespace troupe
