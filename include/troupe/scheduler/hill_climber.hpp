// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <troupe/base/clock.hpp>
#include <troupe/scheduler/tuning.hpp>

namespace troupe::detail {

/// Finds out how many workers should share what there is to do.
///
/// Actors who talk to each other can be slower on two cores than on one: their messages and states
/// travel between the caches, and that costs more than the second core brings. Nobody can tell from
/// the queues, but it can be measured: how much is done in a millisecond by so many workers, and
/// how much by half as many? The better of the two goes on, and is compared again after a while,
/// which is doubled while the answer stays the same.
///
/// Source:  Hellerstein, Morrison, Eilebrecht: "Optimizing Concurrency Levels in the .NET
///          ThreadPool: A case study of controller design and implementation", FeBID 2008.
/// Threads: one at a time. It waits for nothing and reads no clock.
class hill_climber {
 public:
  explicit hill_climber(unsigned workers) noexcept
      : workers_(workers), top_(static_cast<unsigned>(std::bit_width(workers - 1))) {
    level_ = best_ = top_;
  }

  /// How many workers may run.
  [[nodiscard]] unsigned limit() const noexcept { return limit_at(level_); }

  /// look() does nothing before.
  [[nodiscard]] time_point next_look() const noexcept { return next_look_; }

  /// To be called now and then while there is work. `steps` is what all workers have done so far,
  /// in any unit that grows with it; so many of them are running.
  void look(time_point now, std::uint64_t steps, unsigned running) noexcept {
    if (top_ == 0 || now < next_look_) return;
    if (phase_ == phase::counting) {
      const duration passed = now - began_;
      const std::uint64_t done = steps - steps_then_;
      // Long steps: the way to another core costs little beside them.
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

  /// What has been counted says nothing any more.
  void interrupt() noexcept {
    forget();
    phase_ = phase::idle;
    level_ = top_;
    next_look_ = {};
  }

 private:
  enum class phase : std::uint8_t { idle, settling, counting };

  /// What was done at one level; what is long ago counts less.
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
    // A fifth beside the bar leaves no doubt: that need not be asked again so soon.
    const bool clear = gain < needed * 0.8 || gain > needed * 1.25;
    streak_ = better == best_ ? std::min(streak_ + (clear ? 2 : 1), tuning::streak_max) : 0;
    best_ = better;
    go_to(best_, now, tuning::count_for * (1 << streak_));
  }

  /// The next level to compare the best one with: those below and above in turns; and now and then
  /// all workers, since the first step away from one core may cost what the others bring.
  unsigned rival() noexcept {
    if (best_ == top_) return top_ - 1;
    ++comparisons_;
    if (comparisons_ % 4 == 0) return top_;
    if (best_ == 0 || comparisons_ % 2 == 0) return best_ + 1;
    return best_ - 1;
  }

  const unsigned workers_;
  const unsigned top_;
  unsigned level_;  // two to the power of this may run
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
