// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <troupe/memory/surplus.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/per_process.hpp>

// The interface of include/troupe/memory/pool.hpp without pooling: the checker watches each block.

namespace troupe {

[[nodiscard]] inline void* pool_allocate(std::size_t bytes) { return ::operator new(bytes); }
inline void pool_release(void* block, std::size_t) noexcept { ::operator delete(block); }

[[nodiscard]] inline void* pool_allocate(std::size_t bytes, std::size_t align) {
  return ::operator new(bytes, std::align_val_t{align});
}
inline void pool_release(void* block, std::size_t, std::size_t align) noexcept {
  ::operator delete(block, std::align_val_t{align});
}

// A check raises the signal, and waits until a thread trims.

enum class pool_rest : std::uint8_t { nothing, later, now };

inline constexpr std::chrono::seconds pool_between_rounds{0};

struct pool_of_checks {
  surplus_signal surplus;
  parker trimmed;
};

inline pool_rest pool_trim(std::size_t) noexcept {
  pool_of_checks& pool = per_process<pool_of_checks>::here();
  pool.surplus.lower();
  pool.trimmed.notify();
  return pool_rest::nothing;
}
inline void pool_listen(surplus_listener& listener) noexcept {
  per_process<pool_of_checks>::here().surplus.add(listener);
}
inline void pool_unlisten(surplus_listener& listener, bool owes) noexcept {
  per_process<pool_of_checks>::here().surplus.remove(listener, owes);
}

}  // namespace troupe
