// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <troupe/memory/pool.hpp>
#include <troupe/sync/atomic.hpp>
#include <type_traits>
#include <utility>

// Messages that lie one after another in memory of the receiver's: in segments, or in an arena.

namespace troupe::lab {

/// Sixteen bytes of such memory. A record begins with a mark, which its messages follow.
struct alignas(16) unit {
  // The values of a mark: not written yet; a number of messages; continue elsewhere.
  static constexpr std::uint64_t unwritten = 0;
  static constexpr std::uint64_t end = ~std::uint64_t{0};

  // [mark] The sender's release of the record pairs with the reader's acquire.
  atomic<std::uint64_t> mark{unwritten};
};
static_assert(sizeof(unit) == 16);

/// Writes new marks over old messages and the gaps between them.
inline void clear_marks(unit* first, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) ::new (static_cast<void*>(first + i)) unit;
}

/// A message in a block of its own, built before there is a slot for the pointer.
template <class M>
class boxed {
 public:
  explicit boxed(M&& from) : block_(pool_allocate(sizeof(M), alignof(M))) {
    try {
      ::new (block_) M(std::move(from));
    } catch (...) {
      pool_release(block_, sizeof(M), alignof(M));
      throw;
    }
  }
  boxed(boxed&& from) noexcept : block_(std::exchange(from.block_, nullptr)) {}
  boxed& operator=(boxed&&) = delete;
  ~boxed() {
    if (block_ == nullptr) return;
    std::destroy_at(&get());
    pool_release(block_, sizeof(M), alignof(M));
  }
  M& get() noexcept { return *static_cast<M*>(block_); }

 private:
  void* block_;
};

/// How a message is stored in a record: by value, unless it is large or over-aligned, or its move
/// may throw. The reason for the last condition is that a reserved slot must be filled. A
/// constructor that throws there would have to leave a tombstone. If the slot was the first in an
/// idle mailbox, a reader would have to be appointed although push() ends with an exception. A box
/// is built beforehand.
template <class M, std::size_t BytesMax>
struct record {
  static constexpr bool in_place =
      sizeof(M) <= BytesMax && alignof(M) <= 16 && std::is_nothrow_move_constructible_v<M>;
  using stored = std::conditional_t<in_place, M, boxed<M>>;

  static constexpr std::size_t offset = alignof(stored) > 8 ? 16 : 8;
  static constexpr std::uint64_t units(std::size_t count) noexcept {
    return (offset + count * sizeof(stored) + sizeof(unit) - 1) / sizeof(unit);
  }

  static stored* first(unit* at) noexcept {
    return reinterpret_cast<stored*>(reinterpret_cast<std::byte*>(at) + offset);
  }
  static M& message(stored& one) noexcept {
    if constexpr (in_place) {
      return one;
    } else {
      return one.get();
    }
  }

  /// Fills a reserved slot, and publishes it to the reader.
  static void write(unit* at, stored&& only) noexcept {
    std::construct_at(first(at), std::move(only));
    at->mark.store(1, release);  // [mark]
  }
};

}  // namespace troupe::lab
