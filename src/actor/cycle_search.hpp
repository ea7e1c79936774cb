// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::detail {

class runtime;

/// When a system searches for actors that only hold each other. frozen_actors.cpp says how.
///
/// Threads: any, but start() and look().
/// Cost:    nothing while no actor lives whose class lists its references; at most a 64th of a core's
///          time otherwise.
class cycle_search {
 public:
  explicit cycle_search(runtime& home) noexcept : home_(home) {}
  /// Zero: none by itself.
  void start(duration every) noexcept;

  /// One more actor lives whose class lists its references. True: the timers' thread is to be woken.
  [[nodiscard]] bool spawned() noexcept;
  void ended() noexcept;

  /// On the timers' thread: searches if it is time; returns when to come again.
  [[nodiscard]] time_point look(time_point now) noexcept;

  /// See system.
  std::size_t collect();
  [[nodiscard]] std::vector<troupe::system::suspect> suspects();
  [[nodiscard]] std::uint64_t collected() const noexcept {
    return collected_.load(relaxed);  // [counter]
  }

 private:
  [[nodiscard]] time_point search() noexcept;

  // How many such actors were spawned (it wraps), how many live, and whether a search is about to come:
  // then nobody need be told of another one.
  static constexpr std::uint64_t is_expected = 1;
  static constexpr std::uint64_t one_alive = 2;
  static constexpr std::uint64_t one_spawned = std::uint64_t{1} << 32;
  static constexpr bool is_any_alive(std::uint64_t lives) noexcept {
    return (lives & (one_spawned - one_alive)) != 0;
  }
  static constexpr std::uint32_t spawned_in(std::uint64_t lives) noexcept {
    return static_cast<std::uint32_t>(lives >> 32);
  }

  runtime& home_;
  atomic<std::uint64_t> lives_{0};
  atomic<std::uint64_t> collected_{0};
  mutex one_at_a_time_;

  // The timers' thread's.
  duration every_{};  // constant while it runs
  duration pause_{};  // until the next search, if no actor is spawned
  duration least_{};  // and if one is
  time_point due_ = time_point::max();
  std::uint32_t seen_ = 0;  // so many were spawned when due_ was set
};

}  // namespace troupe::detail
