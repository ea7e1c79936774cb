// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

// The scheduler's constants, in one place so that the model checker can make them small.

namespace troupe::detail::tuning {

/// A turn ends after so many messages, so that the others get theirs.
inline constexpr std::size_t turn_messages = 128;

/// While others wait, an actor handles so many messages of high priority in a row.
inline constexpr unsigned high_in_a_row = 16;

/// How many turns in a row may come from a worker's private slot before its ring gets one: two
/// actors that keep each other busy must not starve the rest.
inline constexpr unsigned slot_streak_max = 32;

/// Every so many turns the shared queue is asked first, for the same reason.
inline constexpr unsigned injected_interval = 61;

/// How often a searching worker looks around before it parks, and how long it waits in between.
inline constexpr unsigned search_rounds = 64;
inline constexpr unsigned search_pauses = 8;

inline constexpr std::size_t ring_capacity = 256;

// How many workers share what there is to do: hill_climber.hpp.

/// How long caches take to fill with what has come from another core, how long is counted then, and
/// how often in a row that is doubled where the answer stays the same.
inline constexpr std::chrono::microseconds settle_for{1'000};
inline constexpr std::chrono::microseconds count_for{2'000};
inline constexpr int streak_max = 6;

/// The part of what one worker does that each further one has to bring.
inline constexpr double least_gain = 0.2;

/// Where a step (a message sent or handled, an actor begun or ended) takes that much of a worker's
/// time, nothing is compared, and counted again after a while.
inline constexpr std::chrono::microseconds long_step{1};
inline constexpr std::chrono::milliseconds count_again_after{10};

/// How often one of those who keep out looks whether the others get on, and after how many looks
/// without a new turn one of them counts as stuck.
inline constexpr std::chrono::microseconds watch_interval{500};
inline constexpr unsigned watches_stuck = 4;

/// Whoever is in one handler for longer than the pool's time is looked at so often in that time; after so many
/// looks at a pool without turns nobody looks any more.
inline constexpr unsigned looks_until_stuck = 4;
inline constexpr unsigned looks_before_sleep = 40;
inline constexpr std::chrono::microseconds stuck_after_least{500};

/// At the first look with others waiting a turn is told to end behind its message; at that one it has not.
inline constexpr unsigned looks_until_told = 2;

/// The most threads that a pool makes, whatever it may.
inline constexpr unsigned most_threads = 32'768;

/// So long a thread without a worker waits for one before it ends.
inline constexpr std::chrono::milliseconds rest_for{1'000};

}  // namespace troupe::detail::tuning
