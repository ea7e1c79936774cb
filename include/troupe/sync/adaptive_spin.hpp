// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <troupe/sync/atomic.hpp>

namespace troupe {
inline namespace native {

/// Looks some times in a row for what may come at any moment, before its caller goes to sleep, and learns
/// how long that pays: where it comes soon, twice as long as it took of late; where it does not, hardly at
/// all.
///
/// Threads:   any; what they learn they learn together.
/// Invariant: never more than `most` pauses in a row (and what is left of a gap), and never fewer than `least`, so that it notices when
///            things come sooner again.
/// Cost:      pauses. One is 10 to 140 cycles, which depends on the processor.
class adaptive_spin {
 public:
  static constexpr std::uint32_t least = 8;
  static constexpr std::uint32_t most_unless_told = 128;

  constexpr adaptive_spin() noexcept : adaptive_spin(most_unless_told) {}
  constexpr explicit adaptive_spin(std::uint32_t most) noexcept : most_(most) {}

  /// Returns true as soon as look() does, false if it has not. Between two looks it pauses `gap` times: who takes
  /// something away from others by looking does not look at once.
  template <class Look>
  [[nodiscard]] bool until(Look&& look, std::uint32_t gap = 1) noexcept {
    // [spin] relaxed: a guess, and one thread's lesson may overwrite another's.
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

  // Not written if it stays the same: others read the line.
  void learn(std::uint32_t before, std::uint32_t now) noexcept {
    if (now != before) mean_.store(now, relaxed);  // [spin] relaxed: as above
  }

  const std::uint32_t most_;
  atomic<std::uint32_t> mean_{0};  // pauses until it came, times `scale`
};

}  // namespace native
}  // namespace troupe
