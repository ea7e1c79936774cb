// SPDX-License-Identifier: Apache-2.0
#include <troupe/memory/pool.hpp>
#include <type_traits>
#include <utility>

namespace troupe {
namespace detail {
namespace {

template <std::size_t... Index>
constexpr std::array<depot, sizeof...(Index)> make_depots(std::index_sequence<Index...>) noexcept {
  return {depot{pool_shape(Index)}...};
}

}  // namespace

static_assert(std::is_trivially_destructible_v<depot>, "used until the process is gone");
static_assert(sizeof(free_link) <= pool_sizes.front());

constinit std::array<depot, size_classes_max> pool_depots =
    make_depots(std::make_index_sequence<size_classes_max>{});

}  // namespace detail

std::size_t pool_bytes() noexcept {
  std::size_t sum = 0;
  for (const detail::depot& one : detail::pool_depots) sum += one.bytes();
  return sum;
}

}  // namespace troupe
