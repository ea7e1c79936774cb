// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <troupe/memory/chunk_store.hpp>
#include <troupe/memory/magazine.hpp>
#include <troupe/memory/page_depot.hpp>
#include <troupe/memory/pages.hpp>
#include <troupe/memory/surplus.hpp>
#include <troupe/sync/per_thread.hpp>

namespace troupe {
namespace detail {

/// Above 1024 each is a power of two, or one and a half, and 128 for what stands before a message.
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

/// Smallest class that holds `bytes`. Known at compile time where `bytes` is.
constexpr std::size_t pool_class_of(std::size_t bytes) noexcept {
  return bytes <= pool_small_max ? pool_classes<16, pool_small_max>[(bytes + 15) / 16]
                                 : pool_classes<128, pool_bytes_max>[(bytes + 127) / 128];
}

/// Where the blocks of a size begin, they are multiples of it from a page; so a request that is
/// rounded up to its alignment gets it. Messages want 16 at least.
inline constexpr std::size_t pool_alignment = 16;
inline constexpr std::size_t pool_alignment_max = 64;

/// A batch is 16 KiB, and no more than 128 blocks: the two magazines of a size that is in use stay
/// in the second-level cache. Of what is larger, a thread holds two blocks at most.
constexpr block_shape pool_shape(std::size_t index) noexcept {
  const std::uint32_t bytes = pool_sizes[index];
  const std::uint32_t batch = 16 * 1024 / bytes;
  return {bytes, 0, batch < 1 ? 1 : batch > 128 ? 128 : batch};
}

/// The smallest chunk that wastes no more than a sixteenth.
constexpr chunk_layout pool_layout(std::size_t index) noexcept {
  constexpr std::uint32_t slab = 1024 * 1024;
  constexpr std::uint32_t page = page_bytes;
  const std::uint32_t bytes = pool_sizes[index];
  std::uint32_t chunk = page;
  while (chunk / bytes * bytes < chunk / 16 * 15) chunk += page;
  return {slab, page, chunk, (slab - page) / chunk, chunk / bytes};
}

// Never destroyed in effect: it has no destructor that does anything, so that objects with static
// storage may still give their blocks back at the very end.
extern constinit std::array<page_depot, size_classes_max> pool_depots;
using pool_thread_cache = thread_cache<page_depot>;
struct pool_tag;
inline pool_thread_cache& pool_cache() noexcept {
  return per_thread<pool_thread_cache, pool_tag>::here();
}

/// From now on, or no more, thread_host::allocation_fails() says of each block that this thread asks for whether
/// there is one. It costs a visit to the depot for each.
inline void pool_asks_its_host(bool does) noexcept {
  pool_cache().ask_host(pool_depots.data(), does);
}

[[nodiscard]] void* allocate_elsewhere(std::size_t bytes, std::size_t align);
void release_elsewhere(void* block, std::size_t align) noexcept;

}  // namespace detail

/// Memory for messages, from size classes up to 64 KiB and 128 bytes; larger requests go to operator
/// new. Blocks are aligned to 16. Under AddressSanitizer a free block is poisoned.
///
/// Each thread keeps two batches of free blocks in each size; what exceeds them goes, a batch at a
/// time, to a depot where other threads find it. So a block freed by another thread than took it
/// comes back, and a producer and a consumer need no more memory than what is in flight between
/// them and these batches. What nobody has needed for a while goes back to the system: see
/// pool_trim().
///
/// Threads:   any; release where you like, also while the thread ends.
/// Invariant: a block lies below 2^48, wherever it comes from.
/// Cost:      a few instructions; in one call of a batch, a mutex.
/// Errors:    std::bad_alloc.
[[nodiscard]] inline void* pool_allocate(std::size_t bytes) {
  if (bytes > detail::pool_bytes_max) [[unlikely]]
    return detail::allocate_elsewhere(bytes, detail::pool_alignment);
  const std::size_t index = detail::pool_class_of(bytes);
  return detail::pool_cache().take(detail::pool_depots.data(), index, detail::pool_shape(index));
}

/// `bytes` is what was asked for when allocating.
inline void pool_release(void* block, std::size_t bytes) noexcept {
  if (bytes > detail::pool_bytes_max) [[unlikely]]
    return detail::release_elsewhere(block, detail::pool_alignment);
  const std::size_t index = detail::pool_class_of(bytes);
  detail::pool_cache().give(detail::pool_depots.data(), index, detail::pool_shape(index), block);
}

/// As above for any alignment; more than 64 goes to operator new.
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

// ── Giving back ───────────────────────────────────────────────────────────────────────────────

enum class pool_rest : std::uint8_t {
  nothing,  // there is no need to call pool_trim() again before surplus_listener::on_surplus()
  later,    // some may turn out not to be needed: call again after pool_between_rounds
  now,      // it has done as many steps as it was allowed: call again
};

/// How long who calls pool_trim() waits before a round, so that only what was not needed for so long
/// goes back.
inline constexpr std::chrono::seconds pool_between_rounds{1};

/// Gives the system back what was free when the round before began, and has not been needed since.
/// So what a burst has left takes two rounds, and a load that comes and goes keeps its memory if it
/// comes once between them. A round is one call, or several if `steps_max` is less than it takes. A
/// step is up to 128 blocks, or a system call or two.
///
/// It cannot give back pages on which a block is in use, or in the hands of a thread: two batches of
/// each size at most.
///
/// Threads:   any. A system (troupe::system) does it by itself, as long as it lives.
pool_rest pool_trim(std::size_t steps_max = std::numeric_limits<std::size_t>::max()) noexcept;

/// Has the listener told when there may be something for pool_trim(): once before the next round. Of
/// several listeners only one is told.
void pool_listen(surplus_listener& listener) noexcept;

/// `owes`: the last pool_trim() was not its last word, or has not come yet.
void pool_unlisten(surplus_listener& listener, bool owes) noexcept;

struct pool_usage {
  std::size_t resident = 0;    // bytes that the size classes have from the system at the moment
  std::size_t free = 0;        // of these, in no message and in no thread's cache
  std::size_t given_back = 0;  // to the system, in all
};
[[nodiscard]] pool_usage pool_used() noexcept;

}  // namespace troupe
