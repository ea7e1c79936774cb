// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// The scheduler's constants, in one place so that the model checker can make them small.

namespace troupe::detail::tuning {

/// A turn ends after so many messages, so that the others get theirs.
inline constexpr std::size_t turn_messages = 128;

/// How many turns in a row may come from a worker's private slot before its ring gets one: two
/// actors that keep each other busy must not starve the rest.
inline constexpr unsigned slot_streak_max = 32;

/// Every so many turns the shared queue is asked first, for the same reason.
inline constexpr unsigned injected_interval = 61;

/// How often a searching worker looks around before it parks, and how long it waits in between.
inline constexpr unsigned search_rounds = 64;
inline constexpr unsigned search_pauses = 8;

inline constexpr std::size_t ring_capacity = 256;

}  // namespace troupe::detail::tuning
