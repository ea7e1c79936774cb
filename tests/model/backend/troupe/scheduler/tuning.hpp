// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

// What include/troupe/scheduler/tuning.hpp says, made small.

namespace troupe::detail::tuning {

inline constexpr std::size_t turn_messages = 2;
inline constexpr unsigned high_in_a_row = 2;
inline constexpr unsigned slot_streak_max = 2;
inline constexpr unsigned injected_interval = 3;
inline constexpr unsigned search_rounds = 1;
inline constexpr unsigned search_pauses = 0;
inline constexpr std::size_t ring_capacity = 4;
inline constexpr std::chrono::microseconds watch_interval{500};
inline constexpr unsigned watches_stuck = 1;

}  // namespace troupe::detail::tuning
