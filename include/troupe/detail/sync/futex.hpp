// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>

// Sleeping on a word, private to this process.
//
// A wait returns at once if the word does not hold `expected`, and may return without a wake-up:
// check the word again. None of the three functions orders memory; the loads and stores of the word
// do that. A wake-up may name a word whose object has just been destroyed: only the address is
// used.

namespace troupe {
inline namespace native {

void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;

/// Returns true if the deadline passed.
[[nodiscard]] bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                                    time_point deadline) noexcept;

void futex_wake(const atomic<std::uint32_t>& word, std::uint32_t count) noexcept;

}  // namespace native
}  // namespace troupe
