// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <troupe/memory/magazine.hpp>
#include <troupe/sync/per_thread.hpp>

namespace troupe {
namespace detail {

inline constexpr std::array<std::uint32_t, size_classes_max> pool_sizes{
    32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
inline constexpr std::size_t pool_bytes_max = pool_sizes.back();
inline constexpr std::size_t pool_alignment = 16;

/// Smallest class that holds `bytes`. Known at compile time where `bytes` is.
constexpr std::size_t pool_class_of(std::size_t bytes) noexcept {
  constexpr auto table = [] {
    std::array<std::uint8_t, pool_bytes_max / pool_alignment + 1> classes{};
    std::uint8_t at = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      while (pool_sizes[at] < i * pool_alignment) ++at;
      classes[i] = at;
    }
    return classes;
  }();
  return table[(bytes + pool_alignment - 1) / pool_alignment];
}

/// A batch is 16 KiB, and no more than 128 blocks: the two magazines of a size that is in use stay
/// in the second-level cache.
constexpr block_shape pool_shape(std::size_t index) noexcept {
  const std::uint32_t bytes = pool_sizes[index];
  const std::uint32_t batch = 16 * 1024 / bytes;
  return {bytes, 0, batch < 128 ? batch : 128, 64 * 1024, nullptr};
}

// Never destroyed in effect: it has no destructor that does anything, so that objects with static
// storage may still give their blocks back at the very end.
extern constinit std::array<depot, size_classes_max> pool_depots;
struct pool_tag;
inline thread_cache& pool_cache() noexcept { return per_thread<thread_cache, pool_tag>::here(); }

}  // namespace detail

/// Memory for messages, from size classes up to 1024 bytes; larger requests go to operator new.
/// Blocks are aligned to 16. Under AddressSanitizer a free block is poisoned.
///
/// Each thread keeps two batches of free blocks in each size; what exceeds them goes, a batch at a
/// time, to a depot where other threads find it. So a block freed by another thread than took it
/// comes back, and a producer and a consumer need no more memory than what is in flight between
/// them and these batches. What the pool has got from the system it keeps.
///
/// Threads:   any; release where you like, also while the thread ends.
/// Cost:      a few instructions; in one call of a batch, a mutex.
/// Errors:    std::bad_alloc.
[[nodiscard]] inline void* pool_allocate(std::size_t bytes) {
  if (bytes > detail::pool_bytes_max) [[unlikely]]
    return ::operator new(bytes);
  const std::size_t index = detail::pool_class_of(bytes);
  return detail::pool_cache().take(detail::pool_depots.data(), index, detail::pool_shape(index));
}

/// `bytes` is what was asked for when allocating.
inline void pool_release(void* block, std::size_t bytes) noexcept {
  if (bytes > detail::pool_bytes_max) [[unlikely]] {
    ::operator delete(block);  // unsized: Clang offers no other by default
    return;
  }
  const std::size_t index = detail::pool_class_of(bytes);
  detail::pool_cache().give(detail::pool_depots.data(), index, detail::pool_shape(index), block);
}

/// As above for any alignment; more than 16 goes to operator new.
[[nodiscard]] inline void* pool_allocate(std::size_t bytes, std::size_t align) {
  if (align > detail::pool_alignment) return ::operator new(bytes, std::align_val_t{align});
  return pool_allocate(bytes);
}

inline void pool_release(void* block, std::size_t bytes, std::size_t align) noexcept {
  if (align > detail::pool_alignment) {
    ::operator delete(block, std::align_val_t{align});
  } else {
    pool_release(block, bytes);
  }
}

/// Bytes that the size classes have got from the system, in use or not.
[[nodiscard]] std::size_t pool_bytes() noexcept;

}  // namespace troupe
