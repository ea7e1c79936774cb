// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/thread.hpp>

namespace troupe::detail {

class runtime;

/// Schedules the search for actors that are referenced only by each other. unreachable_actors.cpp
/// says how the search works. A thread for it exists from the first actor whose class lists its
/// references; in a simulation the timers' periodic task searches instead.
///
/// Threads: any, except start(), stop() and look().
/// Cost:    nothing while no actor lives whose class lists its references; otherwise at most a 64th
///          of a core's time. An actor is frozen only while it lists its references. Only actors
///          that are found to be unreachable are frozen together, until they terminate or are seen
///          to be used.
class cycle_search {
 public:
  explicit cycle_search(runtime& home) noexcept : home_(home) {}
  /// Zero: it never searches by itself.
  void start(duration every) noexcept;
  /// Afterwards it has no thread. No actor that lists its references may be spawned any more.
  void stop() noexcept;

  /// Counts one more live actor whose class lists its references. If it returns true, the caller
  /// calls wake().
  [[nodiscard]] bool spawned() noexcept;
  void ended() noexcept;
  /// Makes the thread check when to search; starts the thread if it does not exist. If it
  /// cannot be started, the next call tries again.
  void wake() noexcept;

  /// On that thread: searches if it is time, and returns when to call it again.
  [[nodiscard]] time_point look(time_point now) noexcept;

  /// See system.
  std::size_t collect();
  [[nodiscard]] std::vector<troupe::system::suspect> suspects();
  [[nodiscard]] std::uint64_t collected() const noexcept {
    return collected_.load(relaxed);  // [counter]
  }

 private:
  void run() noexcept;
  [[nodiscard]] time_point search() noexcept;
  std::size_t end_unreachable(bool& is_over);

  // How many such actors were spawned (it wraps), how many live, and whether a search is about to
  // come. If one is, a new actor need not be reported.
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

  mutex thread_mutex_;  // guards thread_
  thread thread_;
  parker parker_;
  atomic<bool> stopping_{false};

  // Accessed only by the thread.
  duration every_{};  // constant while it runs
  duration pause_{};  // until the next search if no actor is spawned
  duration least_{};  // until the next search if an actor is spawned
  time_point due_ = time_point::max();
  std::uint32_t seen_ = 0;  // the spawn count when due_ was set
};

}  // namespace troupe::detail
