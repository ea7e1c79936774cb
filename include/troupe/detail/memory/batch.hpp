// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <troupe/detail/memory/poison.hpp>
#include <utility>

namespace troupe::detail {

/// The properties of one size class of a pool.
struct block_shape {
  std::uint32_t bytes;  // size of a block
  // A free block is written to from this offset on; the bytes before stay unchanged.
  std::uint32_t link_offset;
  std::uint32_t batch;  // number of blocks moved between a thread and the depot at a time
};

inline constexpr std::size_t batch_max = 128;

/// Blocks in a depot. The blocks themselves store the list of the batch: the first block lists as
/// many of the others as it has room for, the second one the next ones, and so on.
///
///   block 0: next batch, count, 1, 2 …   block 1: k, k + 1, …   block 2: …   last ones: empty
///
/// So a few blocks hold the list. The thread that reads it, often not the one that wrote it, waits
/// only for the cache lines of these blocks, several at a time.
struct block_batch {
  void* first;
  std::uint32_t count;
};

/// The beginning of the first block of a batch, before the list.
struct batch_note {
  void* next_batch;
  std::uint32_t count;
};

/// The part of a free block that the pool writes to. Under AddressSanitizer it must be unpoisoned.
inline void* body_of(const block_shape& shape, void* block) noexcept {
  return static_cast<std::byte*>(block) + shape.link_offset;
}

/// Poisons the part of a free block that belongs to the pool.
inline void poison_free(const block_shape& shape, void* block) noexcept {
  poison(body_of(shape, block), shape.bytes - shape.link_offset);
}
inline void unpoison_free(const block_shape& shape, void* block) noexcept {
  unpoison(body_of(shape, block), shape.bytes - shape.link_offset);
}

constexpr bool is_well_formed(const block_shape& shape) noexcept {
  return shape.link_offset % alignof(void*) == 0 && shape.bytes % alignof(void*) == 0 &&
         shape.link_offset + sizeof(batch_note) + sizeof(void*) <= shape.bytes && shape.batch > 0 &&
         shape.batch <= batch_max;
}

/// Calls what(index, place) for each block of a batch except the first: its index, and the place
/// that stores its address, which may be written and read during the call. at(index) returns a
/// block: the first one, or one for which what() has already been called.
template <class At, class What>
void for_each_place(const block_shape& shape, std::uint32_t count, At&& at, What&& what) noexcept {
  std::uint32_t index = 1;
  for (std::uint32_t holder = 0; index < count; ++holder) {
    const std::size_t head = holder == 0 ? sizeof(batch_note) : 0;
    const std::size_t room = (shape.bytes - shape.link_offset - head) / sizeof(void*);
    void* const block = at(holder);
    unpoison_free(shape, block);
    auto* place = reinterpret_cast<void**>(static_cast<std::byte*>(body_of(shape, block)) + head);
    for (const std::uint32_t end =
             static_cast<std::uint32_t>(std::min<std::size_t>(count, index + room));
         index < end; ++index, ++place) {
      what(index, place);
    }
    poison_free(shape, block);
  }
}

/// Writes the list of these blocks, at least one, into the blocks.
[[nodiscard]] inline block_batch pack(const block_shape& shape,
                                      std::span<void* const> blocks) noexcept {
  const auto count = static_cast<std::uint32_t>(blocks.size());
  unpoison_free(shape, blocks[0]);
  ::new (body_of(shape, blocks[0])) batch_note{nullptr, count};
  poison_free(shape, blocks[0]);
  for_each_place(
      shape, count, [&](std::uint32_t i) { return blocks[i]; },
      [&](std::uint32_t i, void** place) { *place = blocks[i]; });
  return {blocks[0], count};
}

/// Reads the list of a batch. `to` must have room for all its blocks.
inline void unpack(const block_shape& shape, const block_batch& batch,
                   std::span<void*> to) noexcept {
  to[0] = batch.first;
  for_each_place(
      shape, batch.count, [&](std::uint32_t i) { return to[i]; },
      [&](std::uint32_t i, void** place) { to[i] = *place; });
}

/// The batches of a depot: last in, first out.
///
/// Threads: one at a time.
class batch_list {
 public:
  void push(const block_shape& shape, const block_batch& batch) noexcept {
    unpoison_free(shape, batch.first);
    note_of(shape, batch.first).next_batch = std::exchange(first_, batch.first);
    poison_free(shape, batch.first);
    blocks_ += batch.count;
  }

  /// Must not be called on an empty list.
  [[nodiscard]] block_batch pop(const block_shape& shape) noexcept {
    void* const first = first_;
    unpoison_free(shape, first);
    const batch_note& note = note_of(shape, first);
    const block_batch taken{first, note.count};
    first_ = note.next_batch;
    poison_free(shape, first);
    blocks_ -= taken.count;
    return taken;
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_; }

 private:
  static batch_note& note_of(const block_shape& shape, void* first) noexcept {
    return *std::launder(static_cast<batch_note*>(body_of(shape, first)));
  }

  void* first_ = nullptr;  // linked by batch_note::next_batch
  std::size_t blocks_ = 0;
};

}  // namespace troupe::detail
