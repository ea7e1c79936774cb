// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <troupe/memory/depot.hpp>

namespace troupe::detail {

inline constexpr std::size_t size_classes_max = 11;

/// The free blocks of one size class that one thread holds: a list that it works on, and one full
/// batch in reserve, so that a thread on the edge does not go to the depot each time.
struct magazine {
  void* loaded;        // linked by free_link::next
  void* reserve;       // null, or exactly one batch
  std::uint32_t room;  // how many more go into loaded before it is a batch
};

/// The magazines of one thread and one pool. All zero is the state before the first use, so that it
/// is a thread_local without a guard; the first block that comes or goes takes the slow path, which
/// opens the cache and has it closed when the thread ends. A closed cache holds nothing: each block
/// goes from and to the depot, as in the destructor of another thread_local.
///
/// Threads:   the one that it belongs to.
/// Invariant: not open → every magazine is empty and has no room.
/// Cost:      take() and give(): a load, a store and a count. One visit to the depot in a batch.
struct thread_cache {
  enum class phase : std::uint8_t { unused, open, closed };

  std::array<magazine, size_classes_max> magazines;
  depot* depots;  // one for each size class
  thread_cache* next;
  phase state;

  /// `shape` is that of depots[index]; the caller knows it at compile time.
  void* take(depot* from, std::size_t index, const block_shape& shape) {
    magazine& mine = magazines[index];
    void* block = mine.loaded;
    if (block == nullptr) [[unlikely]] {
      block = refill(from, index);
    } else {
      unpoison(block, shape.bytes);
      mine.loaded = link_of(block, shape.link_offset)->next;
      ++mine.room;
    }
    return block;
  }

  void give(depot* to, std::size_t index, const block_shape& shape, void* block) noexcept {
    magazine& mine = magazines[index];
    if (mine.room == 0) [[unlikely]]
      return overflow(to, index, block);
    --mine.room;
    link_of(block, shape.link_offset)->next = mine.loaded;
    mine.loaded = block;
    poison(link_of(block, shape.link_offset), shape.bytes - shape.link_offset);
  }

  /// Hands all blocks to the depots.
  void close() noexcept;

 private:
  void* refill(depot* from, std::size_t index);
  void overflow(depot* to, std::size_t index, void* block) noexcept;
  void open(depot* all) noexcept;
};

}  // namespace troupe::detail
