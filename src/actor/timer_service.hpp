// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

#include <troupe/actor/timer.hpp>
#include <troupe/memory/surplus.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/thread.hpp>
#include <troupe/time/timer_wheel.hpp>

namespace troupe::detail {

class runtime;
class timer_service;

/// One armed timer: a node of the wheel, a place in its actor's list, and the envelope of its tick.
/// Entries are used again and never freed, so that a `timer` may ask at any time.
///
/// It is free once it is neither live nor queued. All members are under the service's mutex, except
/// as the tick's envelope passes through the mailbox.
struct timer_entry : timer_node {
  struct tick_envelope : envelope {
    timer_entry* entry = nullptr;
  };

  timer_service* service = nullptr;
  std::uint64_t generation = 1;
  control_block* target = nullptr;  // held
  envelope* message = nullptr;      // what is sent, or copied
  clone_function clone = nullptr;   // null: once
  duration period{};
  time_point deadline{};
  bool live = false;     // neither cancelled nor done
  bool queued = false;   // its tick is in the mailbox, or being handled
  bool cloning = false;  // the message is being copied outside the lock
  bool alarm = false;    // says only that it is time; holds nobody
  bool own = false;      // armed by its actor's object
  std::uint64_t trace = 0;
  tick_envelope tick;
  timer_entry* previous = nullptr;  // in the actor's list
  timer_entry* next = nullptr;      // in the actor's list, or among the free
};

/// The timers of one system: a wheel, a mutex and a thread that sleeps until the next is due. When
/// free memory has gathered in the pool the same thread gives it back to the operating system: some
/// at a time, once a second as long as there is any. It searches for cycles of actors, too: see
/// cycle_search.
///
/// Threads:   any; start() and stop() from the owner.
/// Invariant: every live entry is in its actor's list, and in the wheel unless it has fired once.
///            No user code runs under the mutex but the wake-up callbacks of pumps.
/// Cost:      arm and cancel: the mutex and O(1). Nothing runs while no timer is due and no memory
///            is left over.
class timer_service final : surplus_listener {
 public:
  explicit timer_service(runtime& home);
  void start();
  void stop();  // no actor is left, so no timer is

  /// Has the thread look at the pauses by then.
  void look_by(time_point when) noexcept;

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

  [[nodiscard]] bool has_timers(const control_block& of) const noexcept;
  [[nodiscard]] std::uint64_t armed() const noexcept;
  [[nodiscard]] std::uint64_t skipped() const noexcept;

 private:
  static void run_tick(void* actor, envelope& tick);
  static void discard_tick(envelope& tick) noexcept;
  static constexpr dispatch tick_dispatch{
      .run = run_tick, .discard = discard_tick, .message = "a timer's tick", .internal = true};
  static constexpr dispatch high_tick_dispatch{.run = run_tick,
                                               .discard = discard_tick,
                                               .message = "a timer's tick",
                                               .internal = true,
                                               .high = true};
  static constexpr dispatch alarm_dispatch{.run = run_tick,
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

  void run() noexcept;
  [[nodiscard]] time_point pauses(time_point now) noexcept;
  [[nodiscard]] time_point trim(time_point now) noexcept;
  void fire(timer_entry& entry, time_point now) noexcept;
  void handle(timer_entry& entry, void* actor);
  void fire_alarm(timer_entry& entry) noexcept;
  void handle_alarm(timer_entry& entry);
  timer_entry& take_free();
  void retire(timer_entry& entry, remains& left) noexcept;
  void free_if_done(timer_entry& entry) noexcept;

  mutable mutex mutex_;  // guards everything up to stopping_
  timer_wheel wheel_;
  std::deque<timer_entry> entries_;
  timer_entry* free_ = nullptr;
  time_point sleeps_until_ = time_point::min();
  std::uint64_t armed_ = 0;
  std::uint64_t skipped_ = 0;
  bool stopping_ = false;

  runtime& home_;
  atomic<bool> surplus_{false};             // told, and not yet heard
  time_point trim_at_ = time_point::max();  // the thread's own
  parker parker_;
  thread thread_;
};

}  // namespace troupe::detail
