// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <troupe/scheduler/runnable.hpp>
#include <troupe/scheduler/tuning.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

/// The order in which a worker without work looks for some: in each round into the rings of a few
/// other workers, beginning with a random one, and then into the shared queue; after the last round
/// once into the rings of all others.
///
/// Threads: one.
/// Cost:    at most looks_at_rings() looks at rings, which is linear in the number of workers, and
///          `rounds` looks at the shared queue.
class victim_search {
 public:
  /// Workers with different seeds begin with different victims. The seed must not be 0.
  explicit victim_search(std::uint32_t seed) noexcept : random_(seed) {}

  /// The maximum number of looks at rings of one search.
  [[nodiscard]] static constexpr std::size_t looks_at_rings(std::size_t workers,
                                                            std::size_t rounds) noexcept {
    const std::size_t others = workers - 1;
    const bool are_more = others > tuning::search_victims;
    return rounds * (are_more ? tuning::search_victims : others) + (are_more ? others : 0);
  }

  /// Worker number `self` of `workers` searches. `steal(i)` looks into the ring of worker i, and
  /// `take()` into the shared queue; the first runnable that one of them returns is the result.
  /// Null: neither has found any.
  template <class Steal, class Take>
  [[nodiscard]] runnable* run(std::size_t self, std::size_t workers, unsigned rounds, Steal&& steal,
                              Take&& take) noexcept {
    for (unsigned round = 0; round < rounds; ++round) {
      if (runnable* const r = look(self, workers, tuning::search_victims, steal)) return r;
      if (runnable* const r = take()) return r;
      for (unsigned i = 0; i < tuning::search_pauses; ++i) cpu_relax();
    }
    // With many workers, some have not been checked yet.
    const std::size_t others = workers - 1;
    return others > tuning::search_victims ? look(self, workers, others, steal) : nullptr;
  }

 private:
  // Looks into the rings of at most `most` other workers.
  template <class Steal>
  runnable* look(std::size_t self, std::size_t workers, std::size_t most, Steal& steal) noexcept {
    // One step of xorshift32 (Marsaglia, 2003): thieves must not all begin with the same victim.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    for (std::size_t i = 0; i < workers && most != 0; ++i) {
      const std::size_t victim = (random_ + i) % workers;
      if (victim == self) continue;
      --most;
      if (runnable* const r = steal(victim)) return r;
    }
    return nullptr;
  }

  std::uint32_t random_;
};

}  // namespace troupe::detail
