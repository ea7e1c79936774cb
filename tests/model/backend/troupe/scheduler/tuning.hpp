// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

// The constants of include/troupe/scheduler/tuning.hpp, made small.

namespace troupe::detail::tuning {

inline constexpr std::size_t turn_messages = 2;
inline constexpr unsigned high_in_a_row = 2;
inline constexpr unsigned slot_streak_max = 2;
inline constexpr unsigned injected_interval = 3;
inline constexpr unsigned spin_rounds = 1;
inline constexpr unsigned search_victims = 4;
inline constexpr unsigned search_pauses = 0;
inline constexpr std::chrono::microseconds lookout_shortest{25};
inline constexpr std::chrono::microseconds lookout_longest{400};
inline constexpr unsigned lookout_short_turns = 16;
inline constexpr unsigned lookout_quiet_looks = 1;
inline constexpr std::size_t ring_capacity = 4;
inline constexpr std::chrono::microseconds watch_interval{500};
inline constexpr unsigned watches_stuck = 1;
inline constexpr unsigned looks_until_stuck = 1;
inline constexpr unsigned looks_before_sleep = 1;
inline constexpr unsigned looks_until_told = 1;
inline constexpr std::chrono::microseconds stuck_after_least{500};
inline constexpr unsigned most_threads = 8;
inline constexpr std::chrono::milliseconds rest_for{1'000};

}  // namespace troupe::detail::tuning
