// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <troupe/detail/memory/batch.hpp>

namespace troupe::detail {

inline constexpr std::size_t size_classes_max = 24;

/// The free blocks of one size class that one thread holds: [begin, next) of an array with room for
/// two batches, so that a thread at the limit does not visit the depot each time. It is an array
/// and not a linked list through the blocks: taking a block that another thread has freed would
/// otherwise wait for its cache line, only to find the next block.
struct magazine {
  void** next;
  void** begin;
  void** end;
};

/// A thread's cache of any pool, in the form used at the end of the thread.
struct any_thread_cache {
  enum class phase : std::uint8_t { unused, open, closed, asking };

  any_thread_cache* next;
  void (*close)(any_thread_cache& cache) noexcept;
  phase state;

 protected:
  /// Changes the phase from unused to open, or to closed if the thread has already closed its
  /// caches. `closing` is called when the thread ends.
  void open(void (*closing)(any_thread_cache& cache) noexcept) noexcept;
};

/// The magazines of one thread and one pool. The state before the first use is all zero, so that it
/// can be a thread_local without a guard. The first block taken or given uses the slow path, which
/// opens the cache and registers its closing at the end of the thread. A closed cache holds no
/// blocks: each block is taken from and given to the depot, for example in the destructor of
/// another thread_local. In the phase `asking` the cache is closed temporarily, and the thread's
/// host decides for each block whether allocation succeeds.
///
/// Threads:   the one that it belongs to.
/// Invariant: not open → every magazine is empty and has no room.
/// Cost:      take() and give(): a few instructions, without an access to the block. One visit to
///            the depot per batch. An array of two batches for each size that the thread has used.
///
/// A Depot has take(), give() and shape().
template <class Depot>
struct [[gnu::visibility("default")]] thread_cache : any_thread_cache {
  std::array<magazine, size_classes_max> magazines;
  Depot* depots;  // one for each size class

  /// `shape` is that of depots[index]; the caller knows it at compile time.
  void* take(Depot* from, std::size_t index, const block_shape& shape) {
    magazine& mine = magazines[index];
    if (mine.next == mine.begin) [[unlikely]]
      return refill(from, index);
    void* const block = *--mine.next;
    unpoison(block, shape.bytes);
    return block;
  }

  void give(Depot* to, std::size_t index, const block_shape& shape, void* block) noexcept {
    magazine& mine = magazines[index];
    poison_free(shape, block);
    if (mine.next == mine.end) [[unlikely]]
      return overflow(to, index, block);
    *mine.next++ = block;
  }

  /// Starts or ends the phase `asking`. Called by its own thread; `all`: its depots.
  void ask_host(Depot* all, bool does) noexcept;

 private:
  void* refill(Depot* from, std::size_t index);
  void overflow(Depot* to, std::size_t index, void* block) noexcept;
  bool has_array(magazine& mine, const block_shape& shape) noexcept;
  void open(Depot* all) noexcept;
  void hand_all_over() noexcept;
};

// In magazine.cpp.
class depot;
class [[gnu::visibility("default")]] page_depot;
extern template struct thread_cache<depot>;
extern template struct thread_cache<page_depot>;

}  // namespace troupe::detail
