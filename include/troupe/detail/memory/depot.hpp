// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/memory/batch.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>

namespace troupe::detail {

/// How the slabs of a depot are made.
struct slab_shape {
  std::uint32_t bytes;
  void (*construct)(void* block) noexcept;  // runs once in a block's life
};

/// The blocks of one size class that no thread holds, and the slabs that all of them come from, for
/// blocks that keep their type. It is the depot of Bonwick and Adams, «Magazines and Vmem» (USENIX
/// 2001).
///
/// Threads:   any.
/// Invariant: slabs are never returned to the system, nor used for another class. construct() has
///            run on every block that was ever handed out.
/// Cost:      one mutex for a whole batch.
/// Errors:    take() throws std::bad_alloc.
class alignas(cache_line_bytes) depot {
 public:
  constexpr depot(const block_shape& shape, const slab_shape& slabs) noexcept
      : shape_(shape), from_(slabs) {}
  depot(const depot&) = delete;
  depot& operator=(const depot&) = delete;

  /// Writes between one block and a batch to `to`, which has room for a batch, and returns the
  /// number. Used blocks are preferred to new ones.
  [[nodiscard]] std::size_t take(std::span<void*> to);
  /// Returns at most a batch of blocks.
  void give(std::span<void* const> blocks) noexcept;

  const block_shape& shape() const noexcept { return shape_; }

  /// Bytes obtained from the system.
  std::size_t bytes() const noexcept;

  /// Calls fn(void* block) for every block ever handed out, in use or not. Other threads may take
  /// and give blocks meanwhile.
  template <class Function>
  void for_each_block(Function&& fn) const {
    // [slab] acquire: the slab's header is written before it is linked.
    for (slab* at = slabs_.load(acquire); at != nullptr; at = at->older) {
      // [carve] acquire: the blocks below this count are constructed.
      const std::uint32_t carved = at->carved.load(acquire);
      for (std::uint32_t i = 0; i < carved; ++i) fn(at->block(i, shape_.bytes));
    }
  }

 private:
  struct alignas(cache_line_bytes) slab {
    slab* older;
    atomic<std::uint32_t> carved{0};

    void* block(std::uint32_t index, std::uint32_t bytes) noexcept {
      return reinterpret_cast<std::byte*>(this + 1) + std::size_t{index} * bytes;
    }
  };
  static_assert(sizeof(slab) == cache_line_bytes);

  std::uint32_t blocks_per_slab() const noexcept {
    return static_cast<std::uint32_t>((from_.bytes - sizeof(slab)) / shape_.bytes);
  }
  slab* slab_with_room();
  std::size_t carve(std::span<void*> to);

  const block_shape shape_;
  const slab_shape from_;
  mutable mutex mutex_;  // guards batches_; only its holder adds slabs
  batch_list batches_;
  atomic<slab*> slabs_{nullptr};  // newest first; only grows
  atomic<std::size_t> slab_count_{0};
};

}  // namespace troupe::detail
