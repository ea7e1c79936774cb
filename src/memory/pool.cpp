// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <new>
#include <troupe/detail/memory/pool.hpp>
#include <type_traits>
#include <utility>

namespace troupe {
namespace detail {
namespace {

// Surplus of one size class, in bytes, below which no listener is woken.
constexpr std::size_t surplus_min = 256 * 1024;

constinit surplus_signal pool_surplus;

template <std::size_t... Index>
constexpr std::array<page_depot, sizeof...(Index)> make_depots(
    std::index_sequence<Index...>) noexcept {
  return {page_depot{pool_shape(Index), pool_layout(Index), surplus_min, pool_surplus}...};
}

constexpr bool every_class_is_well_formed() {
  for (std::size_t i = 0; i < size_classes_max; ++i) {
    const chunk_layout layout = pool_layout(i);
    if (!is_well_formed(pool_shape(i)) || pool_sizes[i] % chunk_store::block_alignment != 0 ||
        layout.chunks == 0 || layout.chunks > chunk_store::chunks_max ||
        layout.chunk_bytes % page_bytes != 0 ||
        layout.chunk_bytes / chunk_store::block_alignment > 0xffff) {
      return false;
    }
  }
  return true;
}

// The current round of pool_trim().
struct {
  mutex guard;
  bool begun = false;
  bool later = false;
} constinit round;

}  // namespace

static_assert(every_class_is_well_formed());
static_assert(std::is_trivially_destructible_v<page_depot>, "used until the process is gone");
static_assert(pool_bytes_max >= 64 * 1024 + 64, "a message of 64 KiB and its head");

constinit std::array<page_depot, size_classes_max> pool_depots =
    make_depots(std::make_index_sequence<size_classes_max>{});

void* allocate_elsewhere(std::size_t bytes, std::size_t align) {
  void* const block = align > __STDCPP_DEFAULT_NEW_ALIGNMENT__
                          ? ::operator new(bytes, std::align_val_t{align})
                          : ::operator new(bytes);
  expect_low_addresses(block, bytes);
  return block;
}

void release_elsewhere(void* block, std::size_t align) noexcept {
  if (align > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    ::operator delete(block, std::align_val_t{align});
  } else {
    ::operator delete(block);  // unsized: Clang offers no other by default
  }
}

}  // namespace detail

pool_rest pool_trim(std::size_t steps_max) noexcept {
  auto& round = detail::round;
  const std::lock_guard lock(round.guard);
  if (!round.begun) {
    detail::pool_surplus.lower();
    round.later = false;
    for (detail::page_depot& each : detail::pool_depots) round.later |= each.look();
    round.begun = true;
  }
  for (detail::page_depot& each : detail::pool_depots) {
    while (steps_max > 0 && each.give_back_some()) --steps_max;
    if (steps_max == 0) return pool_rest::now;
  }
  round.begun = false;
  // A surplus that was signalled since this round began may not be part of it. The round may also
  // have been begun by a system that terminated before it was complete.
  return round.later || detail::pool_surplus.is_raised() ? pool_rest::later : pool_rest::nothing;
}

void pool_listen(surplus_listener& listener) noexcept { detail::pool_surplus.add(listener); }

void pool_unlisten(surplus_listener& listener, bool owes) noexcept {
  detail::pool_surplus.remove(listener, owes);
}

pool_usage pool_used() noexcept {
  pool_usage all;
  for (const detail::page_depot& each : detail::pool_depots) {
    const auto [resident, free, given_back] = each.used();
    all.resident += resident;
    all.free += free;
    all.given_back += given_back;
  }
  return all;
}

}  // namespace troupe
