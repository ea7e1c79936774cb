// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <troupe/detail/memory/batch.hpp>

namespace troupe::detail {

/// The layout of the blocks of one size: a slab is a head and chunks, and a chunk consists of whole
/// pages of blocks.
struct chunk_layout {
  std::uint32_t slab_bytes;  // a power of two; slabs are aligned to it
  std::uint32_t head_bytes;
  std::uint32_t chunk_bytes;
  std::uint32_t chunks;  // per slab
  std::uint32_t blocks;  // per chunk
};

/// The memory of one size class. It tracks which blocks are at home, that is, neither handed out
/// nor in transit, and thus which pages can be returned to the system. It is the slab layer of
/// Bonwick's allocator (USENIX 1994), except that the metadata of a chunk is in the slab's head and
/// not in the chunk, because a vacant chunk has no memory.
///
///     vacant ──take()──► in use ⇄ partly at home ──► wholly at home ──begin_vacating()──► vacant
///                            take(), bring_home()
///
/// take() prefers partly used chunks to vacant ones, and lower chunks of a slab to higher ones, so
/// that the used blocks concentrate in few chunks.
///
/// Threads:   one at a time; release() at any time. Vacating is done one step at a time.
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

  /// Writes between one block and a batch to `to`, which has room for a batch, and returns the
  /// number.
  [[nodiscard]] std::size_t take(std::span<void*> to);

  void bring_home(std::span<void* const> blocks) noexcept;

  struct slab;

  /// Chunks that are wholly at home, all in one slab; or a complete slab.
  struct vacancy {
    slab* where = nullptr;
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
    bool is_all = false;
  };

  /// Takes chunks out, as if they were in use. release() then returns their memory to the system,
  /// which is slow, and end_vacating() puts them back. If `where` is null, no chunk is vacant.
  [[nodiscard]] vacancy begin_vacating() noexcept;
  void release(const vacancy& these) const noexcept;
  void end_vacating(const vacancy& these) noexcept;

  [[nodiscard]] std::size_t blocks_at_home() const noexcept { return at_home_; }
  /// Bytes of slabs that are backed by memory: touched, and not returned to the system.
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
  slab* front_ = nullptr;    // slabs with room: those partly at home, then vacant ones
  slab* back_ = nullptr;     // the end of the same list
  slab* emptied_ = nullptr;  // slabs with a chunk wholly at home since the last check
  std::size_t slabs_ = 0;
  std::size_t touched_ = 0;  // chunks that are not vacant
  std::size_t at_home_ = 0;  // blocks in chunks that are not vacant
};

}  // namespace troupe::detail
