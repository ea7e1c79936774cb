// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#include <troupe/actor/timer.hpp>
#include <troupe/detail/actor/simulation_driver.hpp>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/memory/surplus.hpp>
#include <troupe/detail/sync/adaptive_mutex.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <troupe/detail/time/timer_wheel.hpp>

#include "handled_ticks.hpp"
#include "timer_entry.hpp"

namespace troupe::detail {

class runtime;
struct side_block;

/// The timers of one system: a wheel, a mutex and a thread that sleeps until the next timer is due.
/// When free memory has accumulated in the pool, or of timers, the same thread gives it back to the
/// operating system: a limited amount once per second, as long as there is any.
///
/// Due timers are fired in a turn in the pool, that of a hidden actor, so that timers and messages
/// are in the cache of the worker that handles them next. If the pool does not schedule that actor
/// within a millisecond, the thread fires them itself.
///
/// Threads:   any; start(), stop() and end() from the owner.
/// Invariant: every live entry is in its actor's list, and in the wheel unless it has fired once. A
///            tick that fires once is handled without the mutex: its actor claims the message, and
///            returns the entry. The entry stays live until it is taken back: by a thread that
///            fires, that needs an entry to arm, or that counts them; or when its actor terminates.
///            No user code runs under the mutex except the wake-up callbacks of pumps.
/// Cost:      arm and cancel: the mutex and O(1). Nothing runs while no timer is due and there is
///            no surplus memory.
class timer_service final : surplus_listener, periodic_task {
 public:
  explicit timer_service(runtime& home);
  void start();         // the pool exists
  void stop();          // no actor is left, and so no timer
  void end() noexcept;  // no turns are given any more

  /// Its interface to a driver.
  [[nodiscard]] periodic_task& as_periodic_task() noexcept { return *this; }

  /// Makes the thread check everything that it is responsible for.
  void wake() noexcept { parker_.notify(); }

  timer arm(control_block& to, envelope& message, duration delay, duration period,
            clone_function clone);
  bool cancel(timer_entry& entry, std::uint64_t generation) noexcept;

  /// Calls control_block::look_at_the_time() in a turn of that actor by the given time. Of several
  /// times only the earliest counts. Does not keep the actor alive. Call in the actor's turn.
  /// Throws std::bad_alloc.
  void alarm_by(control_block& of, time_point when);

  /// Cancels all timers of an actor that takes no more messages.
  void cancel_all(control_block& of) noexcept;
  /// Cancels the timers that an actor's object has armed itself, when the object is gone.
  void cancel_own(control_block& of) noexcept;

  [[nodiscard]] bool has_timers(const control_block& of) noexcept;
  /// Returns the number of armed timers.
  ///
  /// Cost: the mutex, held for a limited number of just handled ones at a time.
  [[nodiscard]] std::uint64_t armed() noexcept;
  [[nodiscard]] std::uint64_t skipped() const noexcept;

 private:
  static void run_tick(void* actor, envelope& tick);
  static void discard_tick(envelope& tick) noexcept;
  static void run_tick_of_details(void* actor, envelope& tick);
  static void discard_tick_of_details(envelope& tick) noexcept;
  static void run_alarm(void* actor, envelope& tick);
  void end_tick(timer_entry& entry) noexcept;
  static constexpr dispatch tick_dispatch{
      .run = run_tick, .discard = discard_tick, .message = "a timer's tick", .internal = true};
  static constexpr dispatch high_tick_dispatch{.run = run_tick,
                                               .discard = discard_tick,
                                               .message = "a timer's tick",
                                               .internal = true,
                                               .high = true};
  static constexpr dispatch details_dispatch{.run = run_tick_of_details,
                                             .discard = discard_tick_of_details,
                                             .message = "a timer's tick",
                                             .internal = true};
  static constexpr dispatch high_details_dispatch{.run = run_tick_of_details,
                                                  .discard = discard_tick_of_details,
                                                  .message = "a timer's tick",
                                                  .internal = true,
                                                  .high = true};
  static constexpr dispatch alarm_dispatch{.run = run_alarm,
                                           .discard = discard_tick,
                                           .message = "the time",
                                           .internal = true,
                                           .at_once = true};

  // The work left to do for an entry once the mutex is released.
  struct remains {
    envelope* message = nullptr;
    control_block* target = nullptr;
    void dispose() noexcept;
  };

  void on_surplus() noexcept override;

  static constexpr time_point never = time_point::max();
  // with the pool
  static constexpr duration patience = std::chrono::milliseconds(1);
  static constexpr duration patience_with_the_running = std::chrono::microseconds(250);
  static constexpr std::size_t most_at_once = 16;     // under the mutex
  static constexpr std::size_t most_taken_back = 64;  // the same; larger than the number that fire
  static constexpr std::size_t most_in_turn = 1'024;  // few enough to stay in a cache

  static void run_due(void* actor, envelope& due);
  static void discard_due(envelope& due) noexcept;
  static constexpr dispatch due_dispatch{
      .run = run_due, .discard = discard_due, .message = "timers are due", .internal = true};

  void run() noexcept;
  time_point look() noexcept override;  // in a simulation
  [[nodiscard]] time_point see_to_due(std::unique_lock<adaptive_mutex>& lock,
                                      time_point now) noexcept;
  void fire_due() noexcept;
  [[nodiscard]] time_point fire_instead(std::unique_lock<adaptive_mutex>& lock,
                                        time_point now) noexcept;
  std::size_t fire_some(time_point now) noexcept;
  std::size_t fire_in_some_order(time_point now, simulation_driver& by) noexcept;
  void let_overdue_go_on(std::unique_lock<adaptive_mutex>& lock) noexcept;
  [[nodiscard]] time_point trim(time_point now) noexcept;
  bool trim_entries(std::size_t stay) noexcept;
  void fire(timer_entry& entry, time_point now) noexcept;
  void handle(timer_entry& entry, void* actor);
  void handle_once(timer_entry& entry, void* actor);
  void run_message(envelope& message, void* actor, std::uint64_t trace);
  static void prefetch_after(const envelope& tick) noexcept;
  static void insert_first(side_block& of, timer_entry& entry) noexcept;
  void fire_alarm(timer_entry& entry) noexcept;
  void handle_alarm(timer_entry& entry);
  timer_entry& take_free();
  bool take_back(std::size_t most) noexcept;
  static bool is_handled(timer_entry& entry) noexcept;
  void unlink(timer_entry& entry) noexcept;
  void retire(timer_entry& entry, remains& left) noexcept;
  void free_if_done(timer_entry& entry) noexcept;

  mutable adaptive_mutex mutex_;  // guards everything up to stopping_
  timer_wheel wheel_;
  entry_store entries_;
  envelope* returning_ = nullptr;  // from handled_; the next ones to be freed
  // until when the thread sleeps; min: arming a timer need not wake it
  time_point sleeps_until_ = time_point::min();
  time_point wakes_at_ = time_point::max();  // when the thread wakes, also while the actor fires
  bool has_woken_ = false;                   // a worker has been woken for the actor
  time_point firing_since_ = never;          // since when the actor is scheduled or fires
  std::vector<control_block*> overdue_;      // held; possibly suspended, with an expired alarm
  std::uint64_t armed_ = 0;
  std::uint64_t skipped_ = 0;
  bool stopping_ = false;

  runtime& home_;
  control_block* firing_ = nullptr;  // the hidden actor
  envelope due_{nullptr, &due_dispatch};
  atomic<bool> surplus_{false};              // reported, and not yet noticed by the thread
  time_point trim_at_ = time_point::max();   // the thread's own
  time_point looks_at_ = time_point::min();  // the same, in a simulation
  parker parker_;
  thread thread_;
  // Live until they are taken back, but nothing to cancel. On its own cache line, because each
  // handled tick writes to it.
  alignas(cache_line_bytes) handled_ticks handled_;
};

}  // namespace troupe::detail
