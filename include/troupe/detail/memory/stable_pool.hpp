// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/memory/depot.hpp>
#include <troupe/detail/memory/magazine.hpp>
#include <troupe/detail/sync/per_thread.hpp>
#include <type_traits>
#include <utility>

namespace troupe {
namespace detail {

inline constexpr std::array<std::uint32_t, 7> stable_sizes{128, 192, 256, 384, 512, 768, 1024};
inline constexpr std::size_t stable_bytes_max = stable_sizes.back();

/// The smallest class that holds `bytes`. Evaluated at compile time if `bytes` is constant.
constexpr std::size_t stable_class_of(std::size_t bytes) noexcept {
  constexpr auto table = [] {
    std::array<std::uint8_t, stable_bytes_max / cache_line_bytes + 1> classes{};
    std::uint8_t at = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      while (stable_sizes[at] < i * cache_line_bytes) ++at;
      classes[i] = at;
    }
    return classes;
  }();
  return table[(bytes + cache_line_bytes - 1) / cache_line_bytes];
}

}  // namespace detail

/// A pool of slots with type-stable memory. Each slot starts with a Header that is constructed
/// once, when the slot is first created, and is never destroyed or written to by the pool after
/// that. So a pointer to a slot may outlive the slot's content, and its Header may be read at any
/// time: a generation in it tells whether the slot still holds the expected object.
///
/// The pool does not write to the next `kept_bytes` bytes either, which belong to the slot's
/// content. A thread may therefore read them, as atomic variables, without knowing whether the slot
/// is free.
///
/// There is one pool per Header type in the process; all functions are static. Slots have 128 to
/// 1024 bytes, including the Header, and are aligned to 64. Under AddressSanitizer the bytes of a
/// free slot after these are poisoned.
///
/// Threads:   any; a slot may be given back on any thread. The caches are like those of
///            pool_allocate().
/// Invariant: a slot is never unmapped, and never used for another size or Header.
/// Cost:      a few instructions; once per batch, a mutex. A slab is touched only as it is used.
/// Errors:    std::bad_alloc.
template <class Header, std::size_t kept_bytes = 0>
class stable_pool {
  static_assert(std::is_nothrow_default_constructible_v<Header>);
  static_assert(std::is_trivially_destructible_v<Header>,
                "a Header must be trivially destructible: it is never destroyed");
  static_assert(alignof(Header) <= cache_line_bytes);

 public:
  /// The maximum argument of take().
  static constexpr std::size_t bytes_max = detail::stable_bytes_max;

  /// Returns the Header of a slot that holds `bytes` in total. The Header is as the last owner left
  /// it, or as constructed.
  [[nodiscard]] static Header* take(std::size_t bytes) {
    const std::size_t index = class_of(bytes);
    void* slot = cache().take(depots_.data(), index, shape(index));
    return std::launder(static_cast<Header*>(slot));
  }

  /// Frees a slot. `bytes` is the argument passed to take(). The bytes after the Header and the
  /// kept bytes are lost.
  static void give_back(Header* slot, std::size_t bytes) noexcept {
    const std::size_t index = class_of(bytes);
    cache().give(depots_.data(), index, shape(index), slot);
  }

  /// Calls fn(Header&) for every slot, in use or free. Other threads may take and give back slots
  /// meanwhile; all slots taken before the call are included.
  template <class Function>
  static void for_each_slot(Function&& fn) {
    for (const detail::depot& one : depots_) {
      one.for_each_block([&](void* slot) { fn(*std::launder(static_cast<Header*>(slot))); });
    }
  }

  /// Bytes obtained from the system. This is more than the resident size until all slabs are fully
  /// used.
  [[nodiscard]] static std::size_t bytes() noexcept {
    std::size_t sum = 0;
    for (const detail::depot& one : depots_) sum += one.bytes();
    return sum;
  }

 private:
  static constexpr std::size_t link_offset =
      (sizeof(Header) + kept_bytes + alignof(void*) - 1) / alignof(void*) * alignof(void*);

  // A little less than 256 KiB, so that malloc's own metadata does not need another page.
  static constexpr std::uint32_t slab_bytes = 256 * 1024 - 128;

  static void construct(void* slot) noexcept { ::new (slot) Header; }

  static constexpr detail::block_shape shape(std::size_t index) noexcept {
    const std::uint32_t bytes = detail::stable_sizes[index];
    return {bytes, link_offset, std::clamp(8 * 1024 / bytes, 16u, 64u)};
  }

  using thread_cache = detail::thread_cache<detail::depot>;
  static thread_cache& cache() noexcept { return per_thread<thread_cache, stable_pool>::here(); }

  static std::size_t class_of(std::size_t bytes) noexcept {
    TROUPE_EXPECTS(bytes <= bytes_max, "stable_pool: the requested slot is larger than bytes_max");
    return detail::stable_class_of(std::max(bytes, sizeof(Header) + kept_bytes));
  }

  static_assert(detail::is_well_formed(shape(0)),
                "a free slot needs room for a link after the Header and the kept bytes");

  template <std::size_t... Index>
  static constexpr auto make_depots(std::index_sequence<Index...>) noexcept {
    return std::array<detail::depot, sizeof...(Index)>{
        detail::depot{shape(Index), {slab_bytes, &construct}}...};
  }

  static constinit inline auto depots_ =
      make_depots(std::make_index_sequence<detail::stable_sizes.size()>{});
};

}  // namespace troupe
