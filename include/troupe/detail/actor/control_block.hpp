// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/actor/observer.hpp>
#include <troupe/actor/overflow_policy.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/sending_rules.hpp>
#include <troupe/detail/actor/slot_head.hpp>
#include <troupe/detail/actor/turn_context.hpp>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/mailbox/mailbox.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/message/type_identity.hpp>
#include <troupe/detail/scheduler/activity.hpp>
#include <troupe/detail/scheduler/runnable.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe {

struct spawn_options;
class reference_visitor;

namespace detail {

class incarnations;
class runtime;
struct offered;
struct handler_frame;
struct overload_rules;
struct redirection;
struct side_block;
struct uncounted_message;
enum class taken : std::uint8_t;

/// The runtime's record of one actor class: a static one for each class. An actor whose limits were
/// chosen at spawn has its own copy.
struct actor_type {
  std::string_view name;
  type_identity identity;  // of the class; of no type: the runtime's own
  std::uint32_t object_bytes;
  std::uint32_t object_alignment;
  // after the control block; elsewhere: the slot has a pointer instead
  std::uint32_t object_offset;
  void (*destroy)(void* object) noexcept;
  void (*on_start)(void* object) = nullptr;  // null: the class has none
  void (*on_stop)(void* object) = nullptr;   // null: the class has none
  // Called by stop() instead of ending the actor, which then ends itself. Null: none.
  void (*on_told_to_stop)(void* object) = nullptr;
  // Lists the references that the object holds. Null: it does not list them.
  void (*references)(const void* object, reference_visitor& visit) = nullptr;
  const dispatch* on_down = nullptr;       // null: it cannot monitor
  const dispatch* on_link_down = nullptr;  // null: it terminates when a link breaks
  std::uint16_t limited_messages = 0;
  overflow_policy on_full = overflow_policy::backpressure;
  bool ends_silently = false;            // it has no on_stop, and its destructor does nothing
  bool is_hidden = false;                // the runtime's own: neither visible nor counted
  const sending_rules* rules = nullptr;  // null: the system's

  static constexpr auto elsewhere = static_cast<std::uint32_t>(-1);
};

/// The phase of an actor's life as other threads see it: an actor that is stopping is still
/// running. It moves forward, except for a restart, which is a new start. An actor without on_start
/// begins as running.
enum class phase : std::uint8_t { starting, running, ended };

/// Everything that the runtime keeps for one actor. The actor's object lies after it in the same
/// slot, or elsewhere if it does not fit there.
///
/// Threads:   any thread that holds a reference, unless a member says otherwise. "The turn" is the
///            thread that runs turn(): one at a time.
/// Invariant: scheduled once between two rests of the mailbox; not touched by a turn after its
///            rest.
/// Cost:      88 bytes after the head of its slot.
class control_block : public runnable {
 public:
  /// Allocates a slot for an actor of this type, with one reference and a busy mailbox: nothing
  /// runs until started(). `again`: null if the actor has only one object.
  /// Errors: std::bad_alloc.
  static control_block& make(const actor_type& type, runtime& home, executor& runs_on,
                             const spawn_options* options, std::unique_ptr<incarnations> again);

  [[nodiscard]] static control_block& of(lifeline& line) noexcept {
    return *std::launder(reinterpret_cast<control_block*>(&slot_head::of(line) + 1));
  }
  [[nodiscard]] slot_head& head() noexcept {
    return *std::launder(reinterpret_cast<slot_head*>(this) - 1);
  }
  [[nodiscard]] const slot_head& head() const noexcept {
    return *std::launder(reinterpret_cast<const slot_head*>(this) - 1);
  }
  [[nodiscard]] lifeline& line() noexcept { return head().life; }
  [[nodiscard]] address where() noexcept {
    return address_access::make(&line(), line().now().generation());
  }
  /// Returns the block with a reference for the caller, or nullptr if that actor is ending or has
  /// ended.
  [[nodiscard]] static control_block* hold(const address& of) noexcept;
  [[nodiscard]] static control_block* hold_to_the_end(const address& of) noexcept;
  /// Returns the current actor of the slot, ended or not, if it belongs to this system. For an
  /// actor of another system no reference is made, not even for a moment: it could become the last
  /// one, and outlive that system.
  [[nodiscard]] static control_block* hold_in(lifeline& line, const system_state& home) noexcept;
  /// Returns true if the slot belongs to an actor of this system, ended or not.
  [[nodiscard]] static bool is_in(lifeline& line, const system_state& home) noexcept;

  // ── References ──────────────────────────────────────────────────────────────────────────────
  void hold() noexcept { line().hold(); }
  void let_go() noexcept {
    if (!line().try_let_go()) [[unlikely]]
      let_go_last();
  }

  // ── Sending ─────────────────────────────────────────────────────────────────────────────────
  delivery send(envelope& message) noexcept;     // within the actor's limits
  delivery deliver(envelope& message) noexcept;  // regardless of limits: for promised messages
  void arrive(envelope& message) noexcept;       // for a message that a driver has kept
  void stop();                                   // after the messages that were sent before
  void stop_at_shutdown();                       // as stop(), unless already called
  void stop_now();                               // after the message that is being handled
  void end_object();                             // after that message, too; see incarnations.hpp

  /// Counts and reports a message that will not be handled; the message still belongs to the
  /// caller. It is reported with the trace of the message or, if the message was not yet marked,
  /// with `otherwise`.
  void dead_letter(const envelope& message, std::uint64_t otherwise = 0) noexcept;
  /// Returns the trace that messages from this thread belong to.
  [[nodiscard]] std::uint64_t trace_of_sender() const noexcept;

  /// As deliver(), but returns false if the mailbox is closed: the message still belongs to the
  /// caller.
  [[nodiscard]] bool try_deliver(envelope& message) noexcept;
  /// Delivers to the actor at an address without holding a reference, if that actor is idle.
  /// Returns false if it may not be idle, or if the slot may belong to another actor by now; the
  /// message still belongs to the caller.
  [[nodiscard]] static bool try_deliver_to_idle(lifeline& line, std::uint32_t generation,
                                                envelope& message) noexcept;
  /// As try_deliver(), but a message of high priority is handled before others.
  [[nodiscard]] bool try_deliver_by_priority(envelope& message) noexcept;
  /// Delivers to a hidden actor that has not ended. The message is not counted, neither now nor
  /// when it is handled. Returns true if the caller must schedule the actor.
  [[nodiscard]] bool deliver_hidden(envelope& message) noexcept;

  // ── For the spawner ─────────────────────────────────────────────────────────────────────────
  [[nodiscard]] void* object() noexcept;  // storage for the object, while it is made
  void started() noexcept;                // the object is constructed
  void abandon(exit_reason as) noexcept;  // there will be no object

  // ── For the turn ────────────────────────────────────────────────────────────────────────────
  static turn_result turn(runnable& r, activity& mine) noexcept;  // up to a fixed number
  static turn_result turn_of(runnable& r, activity& mine, std::size_t most) noexcept;
  /// As turn(), for a pool where runs_on() is not always the pool that runs the turn.
  static turn_result turn_by_executor(runnable& r, activity& mine) noexcept;
  static void collect(runnable& r, activity& mine) noexcept;
  // as many as were collected
  static turn_result turn_collected(runnable& r, activity& mine) noexcept;
  void now_handling(const dispatch& what) noexcept {
    handling_.store(&what, relaxed);  // [handling] relaxed: only for reports
  }
  /// Returns false if the actor is already ending for another reason.
  bool end_after_this_message() noexcept;

  /// In run(): stashes the message until handle_kept_again() is called. A message that was counted
  /// in its mailbox stays counted until then. Throws std::bad_alloc, with nothing stashed.
  void keep(envelope& message);
  [[nodiscard]] bool keeps_any() const noexcept;
  /// Puts the stashed messages before all waiting ones, in their order.
  void handle_kept_again() noexcept;
  /// In run(), for a batch: takes at most `most` of the next messages, as long as they are of this
  /// kind. They leave the mailbox; handled_too() must be called with `counts` when they are
  /// handled.
  [[nodiscard]] envelope* take_next(const dispatch& how, std::size_t most,
                                    handled_messages& counts) noexcept;
  void handled_too(const dispatch& how, const handled_messages& counts, bool done) noexcept;
  /// In run(): returns the next message, or null if none is present yet. Other messages may still
  /// be put after it.
  [[nodiscard]] const envelope* comes_next() const noexcept {
    return taken_.has_ready() ? &taken_.first_ready() : nullptr;
  }
  [[nodiscard]] bool has_exclusive() const noexcept {
    return (phase_.load(relaxed) & exclusive) != 0;  // [phase] relaxed: the turn's own part
  }
  /// Makes a handler exclusive: until end_exclusive(), only this handler continues, and messages
  /// are stashed.
  void begin_exclusive(handler_frame& handler) noexcept;
  void end_exclusive() noexcept;
  /// Resumes the handlers whose deadline has passed. Throws the exceptions that leave them.
  void look_at_the_time();

  // ── Incarnations: incarnations.cpp ──────────────────────────────────────────────────────────
  /// Begins without an object, as between two incarnations. An object is made when decide() is
  /// called. Called by the spawner.
  void begin_between() noexcept;
  enum class next_object : std::uint8_t { none, telling, undecided, begins, never };
  struct decision {
    next_object what = next_object::none;
    exit_reason as = exit_reason::unknown;  // with next_object::never
    friend bool operator==(const decision&, const decision&) = default;
  };
  /// Returns false if the decision was already made, or if there is an object.
  bool decide(next_object what, exit_reason as) noexcept;
  [[nodiscard]] bool is_supervised() const noexcept;
  /// Ends the restarts: from now on, the actor terminates together with its object.
  void ends_for_good() noexcept;
  /// Returns true while its object is ending, or if it has none. Only for the turn.
  [[nodiscard]] bool is_between() const noexcept {
    return (phase_.load(relaxed) & between) != 0;  // [phase] relaxed: the turn's own part
  }
  /// In run(): called when the message has failed its actor; if the actor is restarted, the message
  /// is handled once more. Returns true if the message no longer belongs to the caller.
  [[nodiscard]] bool handle_again(envelope& message) noexcept;
  void handle_once_more(envelope& message, void* actor);

  // ── Search for cycles: unreachable_actors.cpp ──────────────────────────────────────────────────
  /// If the actor is idle, the caller owns its turns until thaw() or end_unreachable().
  [[nodiscard]] bool try_freeze() noexcept { return inbox().try_begin_reading(); }
  void thaw() noexcept;
  /// Returns whether a frozen actor would do anything without receiving a message.
  [[nodiscard]] bool has_something_to_do() const noexcept;
  /// Makes the next turn of a frozen actor its last one. Requires that the end of the actor has
  /// begun.
  void end_unreachable() noexcept;

  void nobody_is_left() noexcept;  // the last reference was transferred
  void uncounted_is_handled(uncounted_message& one, const dispatch& how) noexcept;

  // ── Overload ────────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] const sending_rules& rules() const noexcept {
    return type_->rules != nullptr ? *type_->rules : home_->rules;
  }
  /// Marks that a sender waits for room; returns false if there is room. Requires the mutex of the
  /// pauses.
  [[nodiscard]] bool want_room() noexcept { return inbox().want_room(rules().low); }
  [[nodiscard]] bool is_told_to_stop() const noexcept {
    return told_in(urgent_.load(relaxed)) != urgent::nothing;  // [urgent]
  }
  void count_without_message(overload_event::kind what) noexcept;
  /// Returns true if senders are suspended when the mailbox is full: its limit never refuses a
  /// message.
  [[nodiscard]] bool has_backpressure() const noexcept;
  /// Returns whether a message of `bytes` bytes would be accepted if no other messages waited, here
  /// and elsewhere.
  [[nodiscard]] bool could_take(std::size_t bytes) const noexcept;
  /// For a router: returns the current receiver of this message; null: no worker is left. For any
  /// other actor: returns the actor itself.
  [[nodiscard]] control_block* routed(const envelope& message) noexcept;
  /// From any thread: the approximate load, 0 if there is nothing to do; and whether it accepts no
  /// more messages.
  [[nodiscard]] std::uint32_t load() const noexcept { return head().pushed.load(); }
  [[nodiscard]] bool is_closed() const noexcept { return head().pushed.is_closed(); }
  /// As above, for an actor that may be a router: a router is closed when none of its workers is
  /// left, and its load is that of the least loaded worker.
  [[nodiscard]] std::uint32_t load_behind() const noexcept;
  [[nodiscard]] bool is_closed_behind() const noexcept;
  /// Makes it check for a broken link after the message that is being handled.
  void link_broken() noexcept;

  /// Reports an accepted message to an observer. Call it without holding a mutex.
  void tell_taken(const dispatch& how, std::uint64_t trace) noexcept {
    if (home_->looked_at) tell_sent(how, trace);
  }

  // ── Inspection ──────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] const actor_type& type() const noexcept { return *type_; }
  [[nodiscard]] std::string_view name() const noexcept;  // given at spawn, or the type's
  [[nodiscard]] runtime& home() const noexcept;
  [[nodiscard]] executor& runs_on() const noexcept { return *executor_; }
  [[nodiscard]] phase in_life() const noexcept;
  [[nodiscard]] const dispatch* handling() const noexcept;  // null: between two messages
  [[nodiscard]] exit_reason reason() const noexcept { return reason_; }  // once it is closed

  /// Returns false if the deadline passes first; null: no deadline.
  [[nodiscard]] bool wait_for_end(const time_point* deadline) noexcept;

  /// State that only some actors need; allocated on demand. Throws std::bad_alloc.
  [[nodiscard]] side_block& side();
  [[nodiscard]] side_block* side_if_any() const noexcept;

 private:
  friend class overload;

  control_block(const actor_type& type, runtime& home, executor& runs_on) noexcept;

  // The turn reads this before each message: the pending command for the actor, and beside it two
  // flags: high messages have arrived (set by senders), and the taken messages are sorted (set by
  // the turn). See priorities.cpp.
  enum class urgent : std::uint8_t {
    nothing,
    link_broken,
    stop,
    stop_now,
    fail,
    unreachable,  // the search for cycles has begun its end
    look_again,   // the last two occur only within a turn
    end_of_turn
  };
  static constexpr std::uint8_t high_pushed = 0x40;
  static constexpr std::uint8_t high_sorted = 0x80;
  static constexpr urgent told_in(std::uint8_t word) noexcept {
    return static_cast<urgent>(word & ~(high_pushed | high_sorted));
  }

  [[nodiscard]] const system_state* home_now() const noexcept;
  static control_block* hold_when_decided(lifeline& line, std::uint32_t generation) noexcept;
  void let_go_last() noexcept;
  void free_slot() noexcept;
  static void count_accepted(system_state& home, std::size_t bytes) noexcept;
  static void count_gone(system_state& home, std::size_t messages, std::size_t bytes) noexcept;
  delivery refuse(envelope& message) noexcept { return refuse(message, reason_); }
  delivery refuse(envelope& message, exit_reason because) noexcept;
  // The router has no worker left. Its own slot may be ending at the same time, so its reason must
  // not be read.
  delivery refuse_by_router(envelope& message) noexcept {
    return refuse(message, exit_reason::stopped);
  }
  delivery send_slowly(envelope& message, std::size_t bytes) noexcept;
  void tell_sent(const dispatch& how, std::uint64_t trace) noexcept;
  void tell_started() noexcept;
  bool raise(urgent what) noexcept;
  void no_longer(urgent what) noexcept;
  [[nodiscard]] bool has_broken_link() noexcept;
  void wake() noexcept;
  [[nodiscard]] const overload_rules* own_rules() const noexcept;
  void tell_overload(overload_event::kind what, const dispatch& how) noexcept;
  [[nodiscard]] bool pauses_now(turn_context& here) noexcept;
  [[gnu::noinline]] bool is_asked_to_end(activity& mine, std::size_t handled) noexcept;
  bool refill(std::uint32_t low, activity& mine) noexcept;
  void tell_high() noexcept;
  void sort_waiting(bool with_pushed, activity& mine) noexcept;
  bool bring_next(bool may_handle, bool may_refill, activity& mine) noexcept;
  urgent look_at_urgent(std::size_t most, bool may_refill, activity& mine) noexcept;
  void put_all_back() noexcept;
  struct turn_tally {
    std::size_t most;     // messages that it may still handle
    std::size_t handled;  // and not yet counted
    std::size_t bytes;    // of those
  };
  turn_result run_turn(activity& mine, std::size_t most, bool may_refill) noexcept;
  turn_result go_on(activity& mine, std::size_t most, bool may_refill) noexcept;
  [[nodiscard]] bool has_one_message(const sending_rules& bounds) noexcept;
  [[nodiscard]] std::optional<turn_result> handle_one(const sending_rules& bounds, activity& mine,
                                                      turn_context& here,
                                                      std::size_t& most) noexcept;
  void count(const turn_tally& of, const sending_rules& bounds, activity& mine) noexcept;
  [[nodiscard]] std::optional<turn_result> see_to(std::uint8_t also, const dispatch& how,
                                                  std::size_t charge, turn_tally& so_far,
                                                  activity& mine) noexcept;
  turn_result fail_in(const dispatch& how, std::size_t charge, const turn_tally& so_far,
                      activity& mine) noexcept;
  envelope& pop_next() noexcept;
  envelope* next_of(const dispatch& how) noexcept;
  void tell_of_batch(const dispatch& how, std::size_t messages,
                     void (observer::*what)(const observer::message_event&)) noexcept;
  void put_aside(envelope& message) noexcept;
  void put_examined_aside(side_block& its) noexcept;
  void took_examined(const envelope& message, std::size_t units) noexcept;
  void forget_examined(side_block& its) noexcept;
  [[nodiscard]] bool has_examined() const noexcept {
    return (phase_.load(relaxed) & examined) != 0;  // [phase] relaxed: the turn's own part
  }
  [[nodiscard]] bool rests(bool is_exclusive, std::uint32_t low) noexcept;
  void give_back_to_budget(std::size_t bytes) noexcept;
  void give_back_to_overdraft(std::size_t bytes) noexcept;
  [[nodiscard]] bool waits_for_something() const noexcept;
  bool go_on_with_held_up() noexcept;
  bool call(void (*function)(void*), const dispatch& as) noexcept;
  void report_failure(std::string_view during) noexcept;
  void report_failure(std::string_view during, std::string_view what) noexcept;
  turn_result end_for(urgent why, activity& mine) noexcept;
  turn_result end(exit_reason reason, activity& mine) noexcept;
  [[nodiscard]] bool may_have_next_object(exit_reason reason) const noexcept;
  [[nodiscard]] bool comes_back(exit_reason reason) noexcept;
  turn_result end_incarnation(exit_reason reason, activity& mine) noexcept;
  [[nodiscard]] std::optional<turn_result> next_incarnation(activity& mine) noexcept;
  void has_started() noexcept;
  void forget_mailbox(activity& mine) noexcept;
  struct unhandled_messages {
    std::size_t messages = 0;  // in the mailbox, including the runtime's own
    std::size_t bytes = 0;
    std::size_t of_users = 0;
    std::size_t units = 0;
  };
  void discard_unhandled(envelope& message, unhandled_messages& counts) noexcept;
  [[nodiscard]] bool end_callbacks() noexcept;
  void end_handlers(exit_reason reason) noexcept;
  void release_what_it_owns() noexcept;
  void finish(exit_reason reason, activity* mine, bool alone) noexcept;
  void move_to(phase next) noexcept;
  void free_object_memory() noexcept;

  // The word of phase_ also has a flag for threads that wait on it for the end. The other flags
  // belong to the turn: whether a handler is exclusive, and the state of an actor with several
  // objects.
  static constexpr std::uint32_t phase_mask = 0xff;
  static constexpr std::uint32_t waited_for = 0x100;
  static constexpr std::uint32_t exclusive = 0x200;
  // two incarnations, after the end of the first one
  static constexpr std::uint32_t between = 0x400;
  static constexpr std::uint32_t for_good = 0x800;           // there will be no further incarnation
  static constexpr std::uint32_t told_at_shutdown = 0x1000;  // not owned by the turn
  // the reader's list begins with messages that an exclusive handler had stashed; see side_block
  static constexpr std::uint32_t examined = 0x2000;

  [[nodiscard]] mailbox inbox() noexcept { return {head().pushed, taken_}; }

  // The first cache line of the slot, with its head: what senders read, and the word that they
  // modify. From `taken_` on, the data belongs to the reader, and so does the object after it.
  system_state* home_;  // constant once the lifeline is open; see hold_in()
  executor* const executor_;
  const actor_type* type_;  // constant once the lifeline is open
  atomic<side_block*> side_{nullptr};
  atomic<std::uint32_t> phase_;
  [[no_unique_address]] mailbox_list taken_;  // its last 4 bytes are the next three members
  atomic<std::uint8_t> urgent_{0};
  exit_reason reason_ = exit_reason::unknown;  // owned by the turn until the mailbox is closed
  const std::uint16_t epoch_;  // of home_: to check that it is still the same system
  // The envelope for let_go_last(). It is not declared as an `envelope` because the block does not
  // have that alignment; its place in the slot does.
  std::byte last_reference_[sizeof(envelope)];
  atomic<const dispatch*> handling_;
};

static_assert(sizeof(slot_head) + sizeof(control_block) == 104,
              "an actor with 16 bytes of state must take 128 bytes, base class included");

inline constexpr std::size_t head_bytes = sizeof(slot_head) + sizeof(control_block);

/// The offset of an object of this size from the end of its control block.
constexpr std::uint32_t object_offset(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t begin = (head_bytes + alignment - 1) / alignment * alignment;
  if (alignment > cache_line_bytes || begin + bytes > actor_slots::bytes_max) {
    return actor_type::elsewhere;
  }
  return static_cast<std::uint32_t>(begin - head_bytes);
}

inline void* control_block::object() noexcept {
  auto* const behind = reinterpret_cast<std::byte*>(this + 1);
  if (type_->object_offset == actor_type::elsewhere) [[unlikely]]
    return *reinterpret_cast<void**>(behind);
  return behind + type_->object_offset;
}

inline side_block* control_block::side_if_any() const noexcept {
  // [side] acquire: its name may have been written by another thread.
  // [end-side] seq_cst: see lifeline::end().
  return side_.load(seq_cst);
}

/// The actor whose handler runs on this thread, or an empty address.
inline address current_address() noexcept {
  return this_turn().running != nullptr ? this_turn().running->where() : address{};
}

// For a thread that runs no turn of the system.
void count_foreign(system_state& home, std::int64_t accepted, std::int64_t handled,
                   std::int64_t bytes) noexcept;
/// Settles the accumulated counts of one thread with the budget.
void settle(system_state& home, activity& counts) noexcept;

inline void control_block::count_accepted(system_state& home, std::size_t bytes) noexcept {
  turn_context& here = this_turn();
  if (here.counts != nullptr && here.running->home_ == &home) {
    if (here.counts->count_accepted(bytes)) [[unlikely]]
      settle(home, *here.counts);
  } else {
    count_foreign(home, 1, 0, static_cast<std::int64_t>(bytes));
  }
}

inline void control_block::count_gone(system_state& home, std::size_t messages,
                                      std::size_t bytes) noexcept {
  turn_context& here = this_turn();
  if (here.counts != nullptr && here.running->home_ == &home) {
    if (here.counts->count_gone(messages, bytes)) [[unlikely]]
      settle(home, *here.counts);
  } else {
    count_foreign(home, 0, static_cast<std::int64_t>(messages), -static_cast<std::int64_t>(bytes));
  }
}

inline bool control_block::try_deliver(envelope& message) noexcept {
  // The message may take the last reference, and with it the block, along: after a push to a busy
  // reader, nothing of the block may be touched. An idle actor waits for schedule().
  system_state& home = *home_;
  const mailbox::pushed result = inbox().push(message);
  if (result == mailbox::pushed::closed) return false;
  count_accepted(home, 0);
  if (result == mailbox::pushed::to_idle) executor_->schedule(*this);
  return true;
}

inline bool control_block::try_deliver_to_idle(lifeline& line, std::uint32_t generation,
                                               envelope& message) noexcept {
  const slot_head::reader now = slot_head::of(line).try_begin_reading(generation);
  if (now == slot_head::reader::nobody) return false;
  control_block& block = of(line);
  if (now == slot_head::reader::of_another) [[unlikely]] {
    block.thaw();
    return false;
  }
  block.inbox().begin_with(message);
  count_accepted(*block.home_, 0);
  block.executor_->schedule(block);
  return true;
}

inline delivery control_block::send(envelope& message) noexcept {
  system_state& home = *home_;
  const sending_rules& bounds = rules();
  const dispatch& how = *message.how;
  const std::size_t bytes = how.charge(message);
  if (!bounds.plain || !how.plain || home.over_budget.load(relaxed)) [[unlikely]]  // [budget]
    return send_slowly(message, bytes);
  // As in try_deliver().
  const mailbox::pushed result =
      inbox().push(message, bounds.units(bytes, how.weight), bounds.soft);
  if (result >= mailbox::pushed::closed) [[unlikely]]
    return send_slowly(message, bytes);
  count_accepted(home, bytes);
  if (result == mailbox::pushed::to_idle) executor_->schedule(*this);
  return delivery::accepted;
}

/// Sends a message that matches `how`.
template <bool WithSender, class M>
delivery post(control_block& to, const dispatch& how, M&& message) {
  auto* const e = make_envelope<WithSender>(how, std::forward<M>(message));
  if constexpr (WithSender) e->sender = current_address();
  return to.send(*e);
}

/// Sends a message that must arrive regardless of limits, and does not count towards them.
template <class A, class M>
delivery post_promised(control_block& to, M&& message) {
  using Message = std::remove_cvref_t<M>;
  constexpr bool with_sender = handles_with_sender<A, Message>;
  auto* const e =
      make_envelope<with_sender>(promised_dispatch_of<A, Message>, std::forward<M>(message));
  if constexpr (with_sender) e->sender = current_address();
  return to.deliver(*e);
}

}  // namespace detail
}  // namespace troupe
