// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <troupe/memory/poison.hpp>
#include <utility>

namespace troupe::detail {

/// One size class of a pool.
struct block_shape {
  std::uint32_t bytes;  // of a block
  std::uint32_t
      link_offset;      // a free block is linked from here on; what lies before stays as it is
  std::uint32_t batch;  // blocks that travel together between a thread and the depot
};

/// What a free block holds at its link offset. The last two count in the first block of a batch.
struct free_link {
  void* next;
  void* next_batch;
  std::uint32_t count;
};

/// Blocks that are linked to one another, the last one to null.
struct block_batch {
  void* first;
  std::uint32_t count;
};

/// The link of a free block. Under AddressSanitizer it must be unpoisoned.
inline free_link* link_of(void* block, std::uint32_t link_offset) noexcept {
  return reinterpret_cast<free_link*>(static_cast<std::byte*>(block) + link_offset);
}

inline void unpoison_link(const block_shape& shape, void* block) noexcept {
  unpoison(link_of(block, shape.link_offset), sizeof(free_link));
}

/// Poisons a free block, as far as it is the pool's.
inline void poison_free(const block_shape& shape, void* block) noexcept {
  poison(link_of(block, shape.link_offset), shape.bytes - shape.link_offset);
}

/// Batches that wait in a depot: the last one in is the first one out.
///
/// Threads: one at a time.
class batch_list {
 public:
  /// Writes into the batch how many it has; to be done before push(). It is apart because that line
  /// may be cold, and push() is called under a mutex.
  static void label(const block_shape& shape, block_batch batch) noexcept {
    unpoison_link(shape, batch.first);
    link_of(batch.first, shape.link_offset)->count = batch.count;
  }

  void push(const block_shape& shape, block_batch batch) noexcept {
    link_of(batch.first, shape.link_offset)->next_batch = std::exchange(first_, batch.first);
    blocks_ += batch.count;
    poison_free(shape, batch.first);
  }

  /// There is one.
  [[nodiscard]] block_batch pop(const block_shape& shape) noexcept {
    void* const first = first_;
    unpoison_link(shape, first);
    const free_link* const link = link_of(first, shape.link_offset);
    const block_batch taken{first, link->count};
    first_ = link->next_batch;
    blocks_ -= taken.count;
    poison_free(shape, first);
    return taken;
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_; }

 private:
  void* first_ = nullptr;  // linked by free_link::next_batch
  std::size_t blocks_ = 0;
};

}  // namespace troupe::detail
