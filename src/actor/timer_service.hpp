// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#include <troupe/actor/conductor.hpp>
#include <troupe/actor/timer.hpp>
#include <troupe/base/cache_line.hpp>
#include <troupe/memory/surplus.hpp>
#include <troupe/sync/adaptive_mutex.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/thread.hpp>
#include <troupe/time/timer_wheel.hpp>

#include "handled_ticks.hpp"
#include "timer_entry.hpp"

namespace troupe::detail {

class runtime;
struct side_block;

/// The timers of one system: a wheel, a mutex and a thread that sleeps until the next is due. When
/// free memory has gathered in the pool the same thread gives it back to the operating system: some
/// at a time, once a second as long as there is any. It searches for cycles of actors, too: see
/// cycle_search.
///
/// What is due is sent by a turn in the pool, that of an actor which nobody sees: so timers and messages are
/// in the cache of the worker that handles them next. If the pool gives it no turn for a millisecond, the
/// thread does it.
///
/// Threads:   any; start(), stop() and end() from the owner.
/// Invariant: every live entry is in its actor's list, and in the wheel unless it has fired once.
///            A tick that fires once is handled without the mutex: its actor claims the message, and returns the
///            entry, which is live until somebody takes it back: who fires, who needs one to arm, who counts them; or
///            until its actor ends. No user code runs under the mutex but the wake-up callbacks of pumps.
/// Cost:      arm and cancel: the mutex and O(1). Nothing runs while no timer is due and no memory
///            is left over.
class timer_service final : surplus_listener, chore {
 public:
  explicit timer_service(runtime& home);
  void start();         // the pool is there
  void stop();          // no actor is left, so no timer is
  void end() noexcept;  // nobody gives turns any more

  /// Has the thread look at the pauses by then.
  void look_by(time_point when) noexcept;

  /// What it is to a conductor.
  [[nodiscard]] chore& as_chore() noexcept { return *this; }

  /// Has the thread look at all it looks at.
  void wake() noexcept { parker_.notify(); }

  timer arm(control_block& to, envelope& message, duration delay, duration period,
            clone_function clone);
  bool cancel(timer_entry& entry, std::uint64_t generation) noexcept;

  /// control_block::look_at_the_time() in a turn of that actor, by then. Of several times only the
  /// soonest counts. Keeps nobody alive. In its turn; throws std::bad_alloc.
  void alarm_by(control_block& of, time_point when);

  /// All timers of an actor that takes no more messages.
  void cancel_all(control_block& of) noexcept;
  /// Those that it has armed itself, of one whose object is gone.
  void cancel_own(control_block& of) noexcept;

  [[nodiscard]] bool has_timers(const control_block& of) noexcept;
  /// Cost: the mutex, for some at a time of those that have been handled just now.
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

  // What is left to do for an entry once the mutex is free.
  struct remains {
    envelope* message = nullptr;
    control_block* target = nullptr;
    void dispose() noexcept;
  };

  void on_surplus() noexcept override;

  static constexpr time_point never = time_point::max();
  static constexpr duration patience = std::chrono::milliseconds(1);  // with the pool
  static constexpr duration patience_with_the_running = std::chrono::microseconds(250);
  static constexpr std::size_t most_at_once = 16;     // under the mutex
  static constexpr std::size_t most_taken_back = 64;  // likewise: more than fire
  static constexpr std::size_t most_in_turn = 1'024;  // they stay in a cache

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
  std::size_t fire_in_some_order(time_point now, conductor& by) noexcept;
  [[nodiscard]] time_point pauses(time_point now) noexcept;
  [[nodiscard]] time_point trim(time_point now) noexcept;
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
  timer_entry* free_ = nullptr;
  envelope* returning_ = nullptr;                // of handled_, and the next ones to be free
  time_point sleeps_until_ = time_point::min();  // the thread; min: who arms need not wake it
  time_point wakes_at_ = time_point::max();      // likewise, also while the actor fires
  bool has_woken_ = false;                       // a worker for the actor
  time_point firing_since_ = never;              // the actor has been asked, or has fired some
  std::uint64_t armed_ = 0;
  std::uint64_t skipped_ = 0;
  bool stopping_ = false;

  runtime& home_;
  control_block* firing_ = nullptr;  // the actor
  envelope due_{nullptr, &due_dispatch};
  atomic<bool> surplus_{false};              // told, and not yet heard
  time_point trim_at_ = time_point::max();   // the thread's own
  time_point looks_at_ = time_point::min();  // likewise, in a simulation
  parker parker_;
  thread thread_;
  // Live until they are taken back, but nothing to cancel. On a line of its own, for each that is handled writes to it.
  alignas(cache_line_bytes) handled_ticks handled_;
};

}  // namespace troupe::detail
