// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

// The scheduler's constants, in one place so that the model checker can make them smaller.

namespace troupe::detail::tuning {

/// A turn ends after this number of messages, so that other runnables are scheduled.
inline constexpr std::size_t turn_messages = 128;

/// While other messages wait, an actor handles at most this number of high-priority messages in a
/// row.
inline constexpr unsigned high_in_a_row = 16;

/// The maximum number of consecutive turns from a worker's private slot before its ring is served:
/// two actors that keep each other busy must not starve the others.
inline constexpr unsigned slot_streak_max = 32;

/// After this number of turns the shared queue is served first, for the same reason.
inline constexpr unsigned injected_interval = 61;

/// A searching worker makes `spin_rounds` rounds before it parks, and pauses `search_pauses`
/// times after each. A round examines `search_victims` other workers, starting with a random one;
/// after the last round it examines all of them once. So the duration of a search hardly depends on
/// the number of workers.
inline constexpr unsigned spin_rounds = 64;
inline constexpr unsigned search_victims = 4;
inline constexpr unsigned search_pauses = 8;

/// While some workers run, one parked worker, the lookout, repeatedly checks whether a runnable
/// waits in the private slot of a worker whose turn takes long. The interval doubles each time that
/// nothing waits. A worker that has begun more than `lookout_short_turns` turns since the last
/// check runs short turns. After `lookout_quiet_looks` checks with no waiting runnable and no
/// worker in short turns, the lookout sleeps until a worker fills its slot.
inline constexpr std::chrono::microseconds lookout_shortest{15};
inline constexpr std::chrono::microseconds lookout_longest{400};
inline constexpr unsigned lookout_short_turns = 16;
inline constexpr unsigned lookout_quiet_looks = 8;

inline constexpr std::size_t ring_capacity = 256;

// How many workers share the work: see hill_climber.hpp.

/// The time for caches to fill with data from another core, the time to measure after that, and how
/// often in a row the latter is doubled while the result stays the same.
inline constexpr std::chrono::microseconds settle_for{1'000};
inline constexpr std::chrono::microseconds count_for{2'000};
inline constexpr int streak_max = 6;

/// The minimum gain of each additional worker, as a fraction of one worker's throughput.
inline constexpr double least_gain = 0.2;

/// If a step (a message sent or handled, an actor spawned or terminated) takes this much of a
/// worker's time, nothing is compared, and the next measurement starts after `count_again_after`.
inline constexpr std::chrono::microseconds long_step{1};
inline constexpr std::chrono::milliseconds count_again_after{10};

/// How often the watcher, one of the workers that keep out, checks whether the others make
/// progress, and after how many checks without a new turn a worker counts as stuck.
inline constexpr std::chrono::microseconds watch_interval{500};
inline constexpr unsigned watches_stuck = 4;

/// How often the monitor checks a handler within the pool's blocking_threshold; and after how many checks
/// of a pool without turns the monitor sleeps.
inline constexpr unsigned looks_until_stuck = 4;
inline constexpr unsigned looks_before_sleep = 40;
inline constexpr std::chrono::microseconds stuck_after_least{500};

/// A turn is asked to end after its current message at the first check that finds other runnables
/// waiting. If they still wait at this number of consecutive checks, the turn counts as not having
/// ended.
inline constexpr unsigned looks_until_told = 2;

/// The upper limit for the threads of a pool, whatever its options allow.
inline constexpr unsigned most_threads = 32'768;

/// How long a thread without a worker waits for one before it ends.
inline constexpr std::chrono::milliseconds rest_for{1'000};

}  // namespace troupe::detail::tuning
