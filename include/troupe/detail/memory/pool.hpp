// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <troupe/detail/memory/chunk_store.hpp>
#include <troupe/detail/memory/magazine.hpp>
#include <troupe/detail/memory/page_depot.hpp>
#include <troupe/detail/memory/pages.hpp>
#include <troupe/detail/memory/surplus.hpp>
#include <troupe/detail/sync/per_thread.hpp>

namespace troupe {
namespace detail {

/// Above 1024 each size is a power of two or one and a half times that, plus 128 for the data
/// before a message.
inline constexpr std::array<std::uint32_t, size_classes_max> pool_sizes{
    32,   48,   64,   96,   128,  192,  256,   384,   512,   768,   1024,  1152,
    1664, 2176, 3200, 4224, 6272, 8320, 12416, 16512, 24704, 32896, 49280, 65664};
inline constexpr std::size_t pool_bytes_max = pool_sizes.back();
inline constexpr std::size_t pool_small_max = 1024;

// The class of each multiple of Step, up to Max.
template <std::size_t Step, std::size_t Max>
inline constexpr auto pool_classes = [] {
  std::array<std::uint8_t, Max / Step + 1> classes{};
  std::uint8_t at = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    while (pool_sizes[at] < i * Step) ++at;
    classes[i] = at;
  }
  return classes;
}();

/// The smallest class that holds `bytes`. Evaluated at compile time if `bytes` is constant.
constexpr std::size_t pool_class_of(std::size_t bytes) noexcept {
  return bytes <= pool_small_max ? pool_classes<16, pool_small_max>[(bytes + 15) / 16]
                                 : pool_classes<128, pool_bytes_max>[(bytes + 127) / 128];
}

/// Blocks of a size begin at multiples of it from a page, so a request rounded up to its alignment
/// is aligned. Messages need at least 16.
inline constexpr std::size_t pool_alignment = 16;
inline constexpr std::size_t pool_alignment_max = 64;

/// A batch is 16 KiB, and at most 128 blocks, so that the two magazines of a used size stay in the
/// second-level cache. Of larger blocks, a thread holds at most two.
constexpr block_shape pool_shape(std::size_t index) noexcept {
  const std::uint32_t bytes = pool_sizes[index];
  const std::uint32_t batch = 16 * 1024 / bytes;
  return {bytes, 0, batch < 1 ? 1 : batch > 128 ? 128 : batch};
}

/// The smallest chunk that wastes at most a sixteenth.
constexpr chunk_layout pool_layout(std::size_t index) noexcept {
  constexpr std::uint32_t slab = 1024 * 1024;
  constexpr std::uint32_t page = page_bytes;
  const std::uint32_t bytes = pool_sizes[index];
  std::uint32_t chunk = page;
  while (chunk / bytes * bytes < chunk / 16 * 15) chunk += page;
  return {slab, page, chunk, (slab - page) / chunk, chunk / bytes};
}

// Its destructor does nothing, so that objects with static storage duration can still release their
// blocks at the end of the program.
extern constinit std::array<page_depot, size_classes_max> pool_depots;
using pool_thread_cache = thread_cache<page_depot>;
struct [[gnu::visibility("default")]] pool_tag;
inline pool_thread_cache& pool_cache() noexcept {
  return per_thread<pool_thread_cache, pool_tag>::here();
}

/// Starts or ends a mode in which thread_host::allocation_fails() decides for each block that this
/// thread requests whether the allocation succeeds. In this mode each request visits the depot.
inline void pool_asks_its_host(bool does) noexcept {
  pool_cache().ask_host(pool_depots.data(), does);
}

[[nodiscard]] void* allocate_elsewhere(std::size_t bytes, std::size_t align);
void release_elsewhere(void* block, std::size_t align) noexcept;

}  // namespace detail

/// Allocates memory for messages, from size classes up to 64 KiB and 128 bytes; larger requests go
/// to operator new. Blocks are aligned to 16. Under AddressSanitizer a free block is poisoned.
///
/// Each thread keeps two batches of free blocks in each size. Further blocks go, a batch at a time,
/// to a depot shared by all threads. So a block freed by another thread than the one that allocated
/// it is reused, and a producer and a consumer need no more memory than the messages in flight
/// between them and these batches. Blocks not needed for a while are returned to the system: see
/// pool_trim().
///
/// Threads:   any; a block may be released on any thread, also while that thread ends.
/// Invariant: the address of a block is below 2^48, wherever it comes from.
/// Cost:      a few instructions; once per batch, a mutex.
/// Errors:    std::bad_alloc.
[[nodiscard]] inline void* pool_allocate(std::size_t bytes) {
  if (bytes > detail::pool_bytes_max) [[unlikely]]
    return detail::allocate_elsewhere(bytes, detail::pool_alignment);
  const std::size_t index = detail::pool_class_of(bytes);
  return detail::pool_cache().take(detail::pool_depots.data(), index, detail::pool_shape(index));
}

/// Releases a block. `bytes` is the size passed to pool_allocate().
inline void pool_release(void* block, std::size_t bytes) noexcept {
  if (bytes > detail::pool_bytes_max) [[unlikely]]
    return detail::release_elsewhere(block, detail::pool_alignment);
  const std::size_t index = detail::pool_class_of(bytes);
  detail::pool_cache().give(detail::pool_depots.data(), index, detail::pool_shape(index), block);
}

/// Allocates memory for messages with an alignment; an alignment of more than 64 is served by
/// operator new.
[[nodiscard]] inline void* pool_allocate(std::size_t bytes, std::size_t align) {
  if (align <= detail::pool_alignment) return pool_allocate(bytes);
  if (align > detail::pool_alignment_max || bytes > detail::pool_bytes_max)
    return detail::allocate_elsewhere(bytes, align);
  return pool_allocate((bytes + align - 1) / align * align);
}

inline void pool_release(void* block, std::size_t bytes, std::size_t align) noexcept {
  if (align <= detail::pool_alignment) return pool_release(block, bytes);
  if (align > detail::pool_alignment_max || bytes > detail::pool_bytes_max)
    return detail::release_elsewhere(block, align);
  pool_release(block, (bytes + align - 1) / align * align);
}

// ── Returning memory to the system ───────────────────────────────────────────────────────────────

enum class pool_rest : std::uint8_t {
  nothing,  // pool_trim() need not be called again before surplus_listener::on_surplus()
  later,    // some blocks may turn out to be unneeded: call again after pool_between_rounds
  now,      // steps_max was reached: call again
};

/// How long a caller of pool_trim() waits before a round, so that only memory not needed for that
/// long is returned.
inline constexpr std::chrono::seconds pool_between_rounds{1};

/// Returns memory to the system that was free when the previous round began and has not been needed
/// since. So memory from a burst is returned after two rounds, and a load that recurs at least once
/// between rounds keeps its memory. A round is one call, or several if `steps_max` is smaller than
/// the number of steps it takes. A step is up to 128 blocks, or one or two system calls.
///
/// Pages with a block that is in use or held by a thread cannot be returned; a thread holds at most
/// two batches of each size.
///
/// Threads:   any. A system (troupe::system) calls it by itself while it exists.
pool_rest pool_trim(std::size_t steps_max = std::numeric_limits<std::size_t>::max()) noexcept;

/// Registers a listener that is called when pool_trim() may have work: once before the next round.
/// Of several listeners only one is called.
void pool_listen(surplus_listener& listener) noexcept;

/// Unregisters a listener. `owes`: its last pool_trim() has not returned pool_rest::nothing, or has
/// not been called yet.
void pool_unlisten(surplus_listener& listener, bool owes) noexcept;

struct pool_usage {
  std::size_t resident = 0;    // bytes that the size classes currently have from the system
  std::size_t free = 0;        // of these, in no message and in no thread's cache
  std::size_t given_back = 0;  // total bytes returned to the system
};
[[nodiscard]] pool_usage pool_used() noexcept;

}  // namespace troupe
