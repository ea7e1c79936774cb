// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <troupe/memory/batch.hpp>

namespace troupe::detail {

/// How the blocks of one size lie: a slab is a head and chunks, and a chunk is whole pages of blocks.
struct chunk_layout {
  std::uint32_t slab_bytes;  // a power of two; slabs are aligned to it
  std::uint32_t head_bytes;
  std::uint32_t chunk_bytes;
  std::uint32_t chunks;  // in a slab
  std::uint32_t blocks;  // in a chunk
};

/// The memory of one size class: which of its blocks are at home, that is, neither handed out nor
/// underway, and so which pages could go back to the system. It is the slab layer of Bonwick's
/// allocator (USENIX 1994), but that what it knows of a chunk lies in the slab's head and not in the
/// chunk, of which nothing is left once it is vacant.
///
///     vacant ──take()──► in use ⇄ partly at home ──► wholly at home ──begin_vacating()──► vacant
///                            take(), bring_home()
///
/// take() prefers chunks that are partly at home to vacant ones, and in a slab the lower to the
/// higher, so that what is in use gathers in few.
///
/// Threads:   one at a time; release() at any time. Who vacates does so one step after the other.
/// Cost:      take(): a few instructions for each block. bring_home(): the same and a division.
/// Errors:    take() throws std::bad_alloc.
class chunk_store {
 public:
  static constexpr std::size_t chunks_max = 256;
  static constexpr std::size_t block_alignment = 16;

  constexpr chunk_store(const block_shape& shape, const chunk_layout& layout) noexcept
      : shape_(shape), layout_(layout) {}
  chunk_store(const chunk_store&) = delete;
  chunk_store& operator=(const chunk_store&) = delete;

  /// Writes between one block and a batch to `to`, which has room for a batch, and returns how many.
  [[nodiscard]] std::size_t take(std::span<void*> to);

  void bring_home(std::span<void* const> blocks) noexcept;

  struct slab;

  /// Chunks that are wholly at home, all in one slab; or all of a slab.
  struct vacancy {
    slab* where = nullptr;
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
    bool is_all = false;
  };

  /// Takes chunks out, as if they were in use. Then release() gives their memory back, which takes
  /// its time, and end_vacating() puts them in again. With `where` null there are none.
  [[nodiscard]] vacancy begin_vacating() noexcept;
  void release(const vacancy& these) const noexcept;
  void end_vacating(const vacancy& these) noexcept;

  [[nodiscard]] std::size_t blocks_at_home() const noexcept { return at_home_; }
  /// Bytes of slabs that the system has not got back, nor kept from the start.
  [[nodiscard]] std::size_t resident() const noexcept {
    return slabs_ * layout_.head_bytes + touched_ * layout_.chunk_bytes;
  }

 private:
  // A block at home.
  struct free_link {
    void* next;
  };

  slab& slab_with_room();
  slab& slab_of(void* block) const noexcept;
  void* chunk_begin(slab& in, std::uint32_t chunk) const noexcept;
  std::size_t take_vacant(slab& from, std::span<void*> to) noexcept;
  std::size_t take_partial(slab& from, std::span<void*> to) noexcept;
  free_link& link_of(void* block) const noexcept {
    return *std::launder(static_cast<free_link*>(body_of(shape_, block)));
  }
  void* pop(slab& from, std::uint32_t chunk) noexcept;
  void push(slab& to, void* block) noexcept;
  void file(slab& s) noexcept;
  void unfile(slab& s) noexcept;

  const block_shape shape_;
  const chunk_layout layout_;
  slab* front_ = nullptr;  // of those with room: first what is partly at home, then vacant only
  slab* back_ = nullptr;   // of the same
  slab* emptied_ =
      nullptr;  // those of which a chunk has come wholly home, since they were looked at
  std::size_t slabs_ = 0;
  std::size_t touched_ = 0;  // chunks that are not vacant
  std::size_t at_home_ = 0;  // blocks in chunks that are not vacant
};

}  // namespace troupe::detail
