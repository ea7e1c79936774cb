// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/actor/lifeline.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/mailbox/mailbox.hpp>
#include <troupe/memory/stable_pool.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/scheduler/activity.hpp>
#include <troupe/scheduler/runnable.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/per_thread.hpp>

namespace troupe::detail {

class runtime;
struct side_block;

/// What the runtime knows of one actor class: a static record each.
struct actor_type {
  std::string_view name;
  std::uint32_t object_bytes;
  std::uint32_t object_alignment;
  void (*destroy)(void* object) noexcept;
  void (*on_start)(void* object);  // null: it has none
  void (*on_stop)(void* object);   // null: it has none
  const dispatch* on_down;         // null: it cannot watch
};

/// Where an actor is in its life. It only moves forward.
enum class phase : std::uint8_t { starting, running, stopping, ended };

/// Everything the runtime keeps for one actor; the actor's object lies behind it in the same slot,
/// or, if it does not fit there, elsewhere.
///
/// Threads:   any thread that holds a reference, unless a member says otherwise. «The turn» is the
///            thread that runs turn(): one at a time.
/// Invariant: scheduled once between two rests of the mailbox; not touched by a turn after its rest.
/// Cost:      96 bytes behind the lifeline.
class control_block : public runnable {
 public:
  /// A slot for an actor of this type, with one reference and its mailbox busy: nothing runs until
  /// started(). Throws std::bad_alloc.
  static control_block& make(const actor_type& type, runtime& home, executor& runs_on,
                             const std::string& name);

  [[nodiscard]] static control_block& of(lifeline& line) noexcept {
    return *std::launder(reinterpret_cast<control_block*>(&line + 1));
  }
  [[nodiscard]] lifeline& line() noexcept {
    return *std::launder(reinterpret_cast<lifeline*>(this) - 1);
  }
  [[nodiscard]] address where() noexcept {
    return address_access::make(&line(), line().now().generation());
  }
  /// The block with a reference for the caller, or nullptr if that actor is ending, or has ended.
  [[nodiscard]] static control_block* hold(const address& of) noexcept;
  [[nodiscard]] static control_block* hold_to_the_end(const address& of) noexcept;

  // ── References ──────────────────────────────────────────────────────────────────────────────
  void hold() noexcept { line().hold(); }
  void let_go() noexcept {
    if (!line().try_let_go()) [[unlikely]]
      let_go_last();
  }

  // ── Sending ─────────────────────────────────────────────────────────────────────────────────
  delivery deliver(envelope& message) noexcept;
  void stop();      // behind what was sent before
  void stop_now();  // after the message that is being handled

  /// Counts and tells that a message will not be handled; it is still the caller's.
  void dead_letter(const envelope& message) noexcept;

  /// Into the mailbox or not at all: false if it is closed, and the message is still the caller's.
  [[nodiscard]] bool try_deliver(envelope& message) noexcept;

  // ── The spawner's ───────────────────────────────────────────────────────────────────────────
  [[nodiscard]] void* object() noexcept;
  void started() noexcept;  // the object is constructed
  void abandon() noexcept;  // there will be no object: its constructor threw

  // ── The turn's ──────────────────────────────────────────────────────────────────────────────
  static turn_result turn(runnable& r, activity& mine) noexcept;  // up to a fixed number
  static void collect(runnable& r) noexcept;
  static turn_result turn_collected(runnable& r, activity& mine) noexcept;  // what was collected
  void now_handling(const dispatch& what) noexcept;
  void end_after_this_message() noexcept;
  void nobody_is_left() noexcept;  // the last reference was handed over
  void add_watcher(envelope& watch) noexcept;

  // ── For looking at ──────────────────────────────────────────────────────────────────────────
  [[nodiscard]] const actor_type& type() const noexcept { return *type_; }
  [[nodiscard]] std::string_view name() const noexcept;  // given at spawn, or the type's
  [[nodiscard]] runtime& home() const noexcept { return *home_; }
  [[nodiscard]] executor& runs_on() const noexcept { return *executor_; }
  [[nodiscard]] phase in_life() const noexcept;
  [[nodiscard]] const dispatch* handling() const noexcept;  // null: between two messages
  [[nodiscard]] exit_reason reason() const noexcept { return reason_; }  // once it is closed

  /// False if the deadline came first; null: none.
  [[nodiscard]] bool wait_for_end(const time_point* deadline) noexcept;

  /// What only some actors need; made on demand. Throws std::bad_alloc.
  [[nodiscard]] side_block& side();
  [[nodiscard]] side_block* side_if_any() const noexcept;

 private:
  control_block(const actor_type& type, runtime& home, executor& runs_on) noexcept;

  enum class urgent : std::uint8_t { nothing, stop, stop_now };

  void let_go_last() noexcept;
  void free_slot() noexcept;
  static void count_accepted(runtime& home) noexcept;
  delivery refuse(envelope& message) noexcept;
  turn_result run_turn(activity& mine, std::size_t most) noexcept;
  bool call(void (*function)(void*), const dispatch& as) noexcept;
  void report_failure(std::string_view during) noexcept;
  turn_result end(exit_reason reason, activity& mine) noexcept;
  void finish(exit_reason reason, activity* mine) noexcept;
  void move_to(phase next) noexcept;
  void free_object_memory() noexcept;

  // phase_'s word also says whether somebody waits for the end on it.
  static constexpr std::uint32_t waited_for = 0x100;

  runtime* const home_;
  executor* const executor_;
  const actor_type* const type_;
  mailbox mailbox_;
  atomic<side_block*> side_{nullptr};
  atomic<const dispatch*> handling_{nullptr};
  envelope last_reference_;  // the place in the mailbox for let_go_last()
  atomic<std::uint32_t> phase_{0};
  atomic<urgent> urgent_{urgent::nothing};
  exit_reason reason_ = exit_reason::unknown;  // the turn's, until the mailbox is closed
  const std::uint16_t epoch_;                  // of home_: whether it is still the same system
};

static_assert(sizeof(lifeline) + sizeof(control_block) == 104,
              "with the base class and 16 bytes of state an actor takes 128");

/// What this thread is doing for Troupe at the moment.
struct turn_context {
  control_block* running = nullptr;       // whose turn it is
  control_block* constructing = nullptr;  // for whom the next actor object is made
  activity* counts = nullptr;             // of this thread, while a turn runs
};

inline turn_context& this_turn() noexcept { return per_thread<turn_context>::here(); }

/// The actor whose handler runs on this thread, or nobody.
inline address current_address() noexcept {
  return this_turn().running != nullptr ? this_turn().running->where() : address{};
}

void count_foreign(runtime& home) noexcept;

inline void control_block::count_accepted(runtime& home) noexcept {
  if (this_turn().counts != nullptr && this_turn().running->home_ == &home) {
    this_turn().counts->accepted.add(1);
  } else {
    count_foreign(home);
  }
}

inline bool control_block::try_deliver(envelope& message) noexcept {
  // With the last reference the message may take the block along: after the push to a busy reader
  // nothing of it may be touched. An idle one waits for schedule().
  runtime& home = *home_;
  const mailbox::pushed result = mailbox_.push(message);
  if (result == mailbox::pushed::closed) return false;
  count_accepted(home);
  if (result == mailbox::pushed::to_idle) executor_->schedule(*this);
  return true;
}

inline delivery control_block::deliver(envelope& message) noexcept {
  return try_deliver(message) ? delivery::accepted : refuse(message);
}

/// Sends a message for which `how` was made.
template <bool WithSender, class M>
delivery post(control_block& to, const dispatch& how, M&& message) {
  auto* const e = make_envelope<WithSender>(how, std::forward<M>(message));
  if constexpr (WithSender) e->sender = current_address();
  return to.deliver(*e);
}

}  // namespace troupe::detail
