// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe {
inline namespace native {

/// Polls repeatedly for an event before its caller goes to sleep, and learns how long polling pays.
/// If events come soon, it polls for twice their recent average time; otherwise hardly at all.
///
/// Threads:   any; they share what they learn.
/// Invariant: at most `most` pauses in a row (plus the rest of a gap), and at least `least`, so
///            that it notices when events come sooner again.
/// Cost:      pauses of 10 to 140 cycles each, depending on the processor.
class adaptive_spin {
 public:
  static constexpr std::uint32_t least = 8;
  static constexpr std::uint32_t most_unless_told = 128;

  constexpr adaptive_spin() noexcept : adaptive_spin(most_unless_told) {}
  constexpr explicit adaptive_spin(std::uint32_t most) noexcept : most_(most) {}

  /// Returns true as soon as look() does, false if it does not within the time. It pauses `gap`
  /// times between two calls of look(), because a check can take the cache line away from other
  /// threads.
  template <class Look>
  [[nodiscard]] bool until(Look&& look, std::uint32_t gap = 1) noexcept {
    // [spin] relaxed: an estimate; one thread's update may overwrite another's.
    const std::uint32_t mean = mean_.load(relaxed);
    const std::uint32_t times = std::min(most_, least + 2 * mean / scale);
    for (std::uint32_t i = 0; i < times; i += gap) {
      for (std::uint32_t pause = 0; pause < gap; ++pause) cpu_relax();
      if (!look()) continue;
      learn(mean, mean - mean / scale + i + gap - 1);
      return true;
    }
    learn(mean, mean - mean / scale);
    return false;
  }

 private:
  static constexpr std::uint32_t scale = 8;

  // Not written if unchanged: other threads read the line.
  void learn(std::uint32_t before, std::uint32_t now) noexcept {
    if (now != before) mean_.store(now, relaxed);  // [spin] relaxed: as above
  }

  const std::uint32_t most_;
  atomic<std::uint32_t> mean_{0};  // average number of pauses until the event, times `scale`
};

}  // namespace native
}  // namespace troupe
