// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <troupe/memory/batch.hpp>

namespace troupe::detail {

inline constexpr std::size_t size_classes_max = 24;

/// The free blocks of one size class that one thread holds: [begin, next) of an array that has room
/// for two batches, so that a thread on the edge does not go to the depot each time. An array and not
/// a list through the blocks: who takes a block that another thread has freed would wait for its cache
/// line, only to learn which is the next one.
struct magazine {
  void** next;
  void** begin;
  void** end;
};

/// A thread's cache of any pool, as the end of the thread sees it.
struct any_thread_cache {
  enum class phase : std::uint8_t { unused, open, closed, asking };

  any_thread_cache* next;
  void (*close)(any_thread_cache& cache) noexcept;
  phase state;

 protected:
  /// From unused to open, or to closed if the thread has closed its caches before. Has `closing`
  /// called when the thread ends.
  void open(void (*closing)(any_thread_cache& cache) noexcept) noexcept;
};

/// The magazines of one thread and one pool. All zero is the state before the first use, so that it
/// is a thread_local without a guard; the first block that comes or goes takes the slow path, which
/// opens the cache and has it closed when the thread ends. A closed cache holds nothing: each block
/// goes from and to the depot, as in the destructor of another thread_local. One that asks is closed for a while, and
/// the thread's host says of each block whether there is memory for it.
///
/// Threads:   the one that it belongs to.
/// Invariant: not open → every magazine is empty and has no room.
/// Cost:      take() and give(): a few instructions, and no look at the block. One visit to the depot
///            in a batch. An array of two batches for each size that the thread has used.
///
/// A Depot has take(), give() and shape().
template <class Depot>
struct thread_cache : any_thread_cache {
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

  /// From now on, or no more. By its thread; `all`: its depots.
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
class page_depot;
extern template struct thread_cache<depot>;
extern template struct thread_cache<page_depot>;

}  // namespace troupe::detail
