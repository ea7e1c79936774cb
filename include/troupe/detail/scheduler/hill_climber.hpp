// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <troupe/base/clock.hpp>
#include <troupe/detail/scheduler/tuning.hpp>

namespace troupe::detail {

/// Finds the number of workers that gives the highest throughput.
///
/// Actors that communicate with each other can be slower on two cores than on one: their messages
/// and states move between caches, which can cost more than the second core gains. The queues do
/// not show this, but it can be measured: the work done per millisecond by a number of workers, and
/// by half as many. The better of the two is kept and compared again later, after an interval that
/// doubles while the result stays the same.
///
/// Source:  Hellerstein, Morrison, Eilebrecht: "Optimizing Concurrency Levels in the .NET
///          ThreadPool: A case study of controller design and implementation", FeBID 2008.
/// Threads: one at a time. It does not block and reads no clock.
class hill_climber {
 public:
  explicit hill_climber(unsigned workers) noexcept
      : workers_(workers), top_(static_cast<unsigned>(std::bit_width(workers - 1))) {
    level_ = best_ = top_;
  }

  /// The number of workers that may run.
  [[nodiscard]] unsigned limit() const noexcept { return limit_at(level_); }

  /// Calls of look() before this time have no effect.
  [[nodiscard]] time_point next_look() const noexcept { return next_look_; }

  /// Must be called from time to time while there is work. `steps` is the work done so far by all
  /// workers, in any unit that grows with it; `running` is the number of running workers.
  void look(time_point now, std::uint64_t steps, unsigned running) noexcept {
    if (top_ == 0 || now < next_look_) return;
    if (phase_ == phase::counting) {
      const duration passed = now - began_;
      const std::uint64_t done = steps - steps_then_;
      // With long steps, the transfer to another core costs little in comparison.
      if (passed * std::clamp(running, 1u, limit()) >=
          tuning::long_step * static_cast<std::int64_t>(done)) {
        forget();
        go_to(top_, now, tuning::count_again_after);
        return;
      }
      rates_[level_].add(passed, done);
    }
    switch (phase_) {
      case phase::idle:
        return go_to(top_, now, tuning::count_for);
      case phase::settling:
        return count(now, steps);
      case phase::counting:
        return choose(now);
    }
  }

  /// Discards all measurements, which are no longer valid.
  void interrupt() noexcept {
    forget();
    phase_ = phase::idle;
    level_ = top_;
    next_look_ = {};
  }

 private:
  enum class phase : std::uint8_t { idle, settling, counting };

  /// The throughput at one level; older measurements have less weight.
  class rate {
   public:
    void add(duration passed, std::uint64_t done) noexcept {
      time_ = time_ / 2 + static_cast<double>(passed.count());
      done_ = done_ / 2 + static_cast<double>(done);
    }
    [[nodiscard]] bool is_known() const noexcept { return time_ > 0; }
    [[nodiscard]] double value() const noexcept { return done_ / time_; }

   private:
    double time_ = 0;
    double done_ = 0;
  };

  [[nodiscard]] unsigned limit_at(unsigned level) const noexcept {
    return static_cast<unsigned>(std::min<std::uint64_t>(workers_, std::uint64_t{1} << level));
  }

  void forget() noexcept {
    rates_ = {};
    best_ = top_;
    streak_ = 0;
  }

  void go_to(unsigned level, time_point now, duration count_for) noexcept {
    phase_ = phase::settling;
    level_ = level;
    count_for_ = count_for;
    next_look_ = now + tuning::settle_for;
  }

  void count(time_point now, std::uint64_t steps) noexcept {
    phase_ = phase::counting;
    began_ = now;
    steps_then_ = steps;
    next_look_ = now + count_for_;
  }

  void choose(time_point now) noexcept {
    if (level_ == best_) return go_to(rival(), now, tuning::count_for);
    if (!rates_[best_].is_known()) return go_to(best_, now, tuning::count_for);
    const unsigned high = std::max(level_, best_);
    const unsigned low = std::min(level_, best_);
    const double more_workers = static_cast<double>(limit_at(high)) / limit_at(low) - 1;
    const double needed = 1 + tuning::least_gain * more_workers;
    const double gain = rates_[high].value() / rates_[low].value();
    const unsigned better = gain >= needed ? high : low;
    // A result at least 20 % away from the threshold is clear and need not be checked again soon.
    const bool clear = gain < needed * 0.8 || gain > needed * 1.25;
    streak_ = better == best_ ? std::min(streak_ + (clear ? 2 : 1), tuning::streak_max) : 0;
    best_ = better;
    go_to(best_, now, tuning::count_for * (1 << streak_));
  }

  /// The next level to compare with the best one: alternately the level below and the level above,
  /// and occasionally all workers, since the first step away from one core may cost as much as
  /// further cores gain.
  unsigned rival() noexcept {
    if (best_ == top_) return top_ - 1;
    ++comparisons_;
    if (comparisons_ % 4 == 0) return top_;
    if (best_ == 0 || comparisons_ % 2 == 0) return best_ + 1;
    return best_ - 1;
  }

  const unsigned workers_;
  const unsigned top_;
  unsigned level_;  // two to the power of this is the number that may run
  unsigned best_;
  phase phase_ = phase::idle;
  unsigned comparisons_ = 0;
  int streak_ = 0;
  time_point next_look_{};
  duration count_for_{};
  time_point began_{};
  std::uint64_t steps_then_ = 0;
  std::array<rate, 33> rates_;
};

}  // namespace troupe::detail
