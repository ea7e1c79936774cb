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
#include <troupe/actor/sending_rules.hpp>
#include <troupe/actor/slot_head.hpp>
#include <troupe/actor/turn_context.hpp>
#include <troupe/base/cache_line.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/mailbox/mailbox.hpp>
#include <troupe/memory/stable_pool.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/scheduler/activity.hpp>
#include <troupe/scheduler/runnable.hpp>
#include <troupe/sync/atomic.hpp>

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
enum class taken : std::uint8_t;

/// What the runtime knows of one actor class: a static record each. An actor whose limits were chosen
/// at spawn has a copy of its own.
struct actor_type {
  std::string_view name;
  std::uint32_t object_bytes;
  std::uint32_t object_alignment;
  std::uint32_t object_offset;  // behind the control block; elsewhere: there is a pointer instead
  void (*destroy)(void* object) noexcept;
  void (*on_start)(void* object) = nullptr;  // null: it has none
  void (*on_stop)(void* object) = nullptr;   // null: it has none
  // In the place of its end, when it is told to stop(): it sees to that itself. Null: none.
  void (*on_told_to_stop)(void* object) = nullptr;
  // Lists the references that the object holds. Null: it does not say.
  void (*references)(const void* object, reference_visitor& visit) = nullptr;
  const dispatch* on_down = nullptr;       // null: it cannot watch
  const dispatch* on_link_down = nullptr;  // null: it ends when a link breaks
  std::uint16_t limited_messages = 0;
  bool ends_silently = false;            // it has no on_stop, and its destructor does nothing
  bool is_hidden = false;                // the runtime's own: nobody sees or counts it
  const sending_rules* rules = nullptr;  // null: the system's

  static constexpr auto elsewhere = static_cast<std::uint32_t>(-1);
};

/// Where an actor is in its life, as far as others ask: the stopping one is still running. It moves
/// forward, but for a restart, which is a new start. One without on_start begins as running.
enum class phase : std::uint8_t { starting, running, ended };

/// Everything the runtime keeps for one actor; the actor's object lies behind it in the same slot,
/// or, if it does not fit there, elsewhere.
///
/// Threads:   any thread that holds a reference, unless a member says otherwise. «The turn» is the
///            thread that runs turn(): one at a time.
/// Invariant: scheduled once between two rests of the mailbox; not touched by a turn after its rest.
/// Cost:      88 bytes behind the head of its slot.
class control_block : public runnable {
 public:
  /// A slot for an actor of this type, with one reference and its mailbox busy: nothing runs until
  /// started(). `again`: null if it has one object only. Throws std::bad_alloc.
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
  delivery send(envelope& message) noexcept;     // within the actor's limits
  delivery deliver(envelope& message) noexcept;  // what is promised: whatever its limits are
  void arrive(envelope& message) noexcept;       // what a conductor has kept
  void stop();                                   // behind what was sent before
  void stop_now();                               // after the message that is being handled
  void end_object();                             // likewise; see incarnations.hpp

  /// Counts and tells that a message will not be handled; it is still the caller's.
  /// Of the trace that the message belongs to, or, if it was on its way to be marked, `otherwise`.
  void dead_letter(const envelope& message, std::uint64_t otherwise = 0) noexcept;
  /// To which belongs what this thread sends.
  [[nodiscard]] std::uint64_t trace_of_sender() const noexcept;

  /// As deliver(), but false if the mailbox is closed: the message is still the caller's.
  [[nodiscard]] bool try_deliver(envelope& message) noexcept;
  /// Without a reference: to whom the address names, if he is idle. False: he may not be, or may be
  /// somebody else by now; the message is still the caller's.
  [[nodiscard]] static bool try_deliver_to_idle(lifeline& line, std::uint32_t generation,
                                                envelope& message) noexcept;
  /// The same, before others if it is high.
  [[nodiscard]] bool try_deliver_by_priority(envelope& message) noexcept;
  /// To one that is hidden, and has not ended: not counted, neither now nor when it is handled. True: the caller is to
  /// schedule it.
  [[nodiscard]] bool deliver_hidden(envelope& message) noexcept;

  // ── The spawner's ───────────────────────────────────────────────────────────────────────────
  [[nodiscard]] void* object() noexcept;  // its place, while it is made
  void started() noexcept;                // the object is constructed
  void abandon() noexcept;                // there will be no object: its constructor threw

  // ── The turn's ──────────────────────────────────────────────────────────────────────────────
  static turn_result turn(runnable& r, activity& mine) noexcept;  // up to a fixed number
  static turn_result turn_of(runnable& r, activity& mine, std::size_t most) noexcept;
  /// The same as turn(), where not all runs_on() is the pool that runs it.
  static turn_result turn_by_executor(runnable& r, activity& mine) noexcept;
  static void collect(runnable& r, activity& mine) noexcept;
  static turn_result turn_collected(runnable& r, activity& mine) noexcept;  // what was collected
  void now_handling(const dispatch& what) noexcept {
    handling_.store(&what, relaxed);  // [handling] relaxed: for people to look at
  }
  /// False if it ends for another reason already.
  bool end_after_this_message() noexcept;

  /// In run(): the message is not handled now, but when handle_kept_again() has been called. Until
  /// then it stays counted in its mailbox, if it was. Throws std::bad_alloc, and does not keep it.
  void keep(envelope& message);
  [[nodiscard]] bool keeps_any() const noexcept;
  /// Puts what was kept before all that waits, in its order.
  void handle_kept_again() noexcept;
  /// In run(), of a batch: the next messages, so many at most, as long as they are of this kind. They are
  /// out of the mailbox; handled_too() is to be told of `counts` when they are handled.
  [[nodiscard]] envelope* take_next(const dispatch& how, std::size_t most,
                                    handled_messages& counts) noexcept;
  void handled_too(const dispatch& how, const handled_messages& counts, bool done) noexcept;
  /// In run(): the message that comes next, if it is there; null: not yet. It may be put behind others still.
  [[nodiscard]] const envelope* comes_next() const noexcept {
    return taken_.has_ready() ? &taken_.first_ready() : nullptr;
  }
  [[nodiscard]] bool has_exclusive() const noexcept {
    return (phase_.load(relaxed) & exclusive) != 0;  // [phase] relaxed: the turn's own part
  }
  /// Only that handler goes on until end_exclusive(); messages are kept.
  void begin_exclusive(handler_frame& handler) noexcept;
  void end_exclusive() noexcept;
  /// The handlers whose time is over go on. Throws what leaves them.
  void look_at_the_time();

  // ── Incarnations: incarnations.cpp ──────────────────────────────────────────────────────────
  /// There will be an object when it is decided. The spawner's.
  void begin_between() noexcept;
  enum class next_object : std::uint8_t { none, undecided, begins, never };
  /// From undecided; false if somebody was faster.
  bool decide(next_object what, exit_reason as) noexcept;
  [[nodiscard]] bool is_supervised() const noexcept;
  /// From now on it ends with its object.
  void ends_for_good() noexcept;
  /// Its object is ending, or there is none. The turn's.
  [[nodiscard]] bool is_between() const noexcept {
    return (phase_.load(relaxed) & between) != 0;  // [phase] relaxed: the turn's own part
  }
  /// In run(): the message failed its actor; if that is restarted, it is handled once more. True: it is
  /// not the caller's any more.
  [[nodiscard]] bool handle_again(envelope& message) noexcept;
  void handle_once_more(envelope& message, void* actor);

  // ── The search's for cycles: frozen_actors.cpp ───────────────────────────────────────────────────
  /// The caller has its turns, if it was idle, until thaw() or end_unreachable().
  [[nodiscard]] bool try_freeze() noexcept { return inbox().try_begin_reading(); }
  void thaw() noexcept;
  /// Of a frozen one: whether it would do something without being sent anything.
  [[nodiscard]] bool has_something_to_do() const noexcept;
  /// Of a frozen one whose end has begun: its next turn is the last one.
  void end_unreachable() noexcept;

  void nobody_is_left() noexcept;  // the last reference was handed over
  void taken_from_ring(const envelope& message) noexcept;

  // ── Overload ────────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] const sending_rules& rules() const noexcept {
    return type_->rules != nullptr ? *type_->rules : home_->rules;
  }
  /// Marks that somebody waits for room; false if there is some. Under the mutex of the pauses.
  [[nodiscard]] bool want_room() noexcept { return inbox().want_room(rules().low); }
  [[nodiscard]] bool is_told_to_stop() const noexcept {
    return told_in(urgent_.load(relaxed)) != urgent::nothing;  // [urgent]
  }
  void count_pause_timed_out() noexcept;
  /// Of a router: who gets this message now; null: nobody is left. Else itself.
  [[nodiscard]] control_block* routed(const envelope& message) noexcept;
  /// From anywhere: about how much there is to do, 0 if nothing; and whether it takes no more.
  [[nodiscard]] std::uint32_t load() const noexcept { return head().pushed.load(); }
  [[nodiscard]] bool is_closed() const noexcept { return head().pushed.is_closed(); }
  /// The same for what may be a router: it is closed when none of its workers is left, and the load is the least of theirs.
  [[nodiscard]] std::uint32_t load_behind() const noexcept;
  [[nodiscard]] bool is_closed_behind() const noexcept;
  /// Has it look, after the message that is being handled, whether a link is broken.
  void link_broken() noexcept;

  // ── Waiting for room in a handler: send_when_ready.cpp ──────────────────────────────────────
  /// Sends it, or says for whose mailbox it has to wait.
  [[nodiscard]] offered offer(envelope& message) noexcept;
  /// Puts it into the mailbox if that holds no more than `most` units then; else it is still the
  /// caller's. `taken::by_idle`: the caller has to schedule().
  [[nodiscard]] taken take_in(envelope& message, std::uint32_t most) noexcept;
  /// It was not taken in: for good.
  delivery not_taken(taken why, envelope& message) noexcept;

  // ── For looking at ──────────────────────────────────────────────────────────────────────────
  [[nodiscard]] const actor_type& type() const noexcept { return *type_; }
  [[nodiscard]] std::string_view name() const noexcept;  // given at spawn, or the type's
  [[nodiscard]] runtime& home() const noexcept;
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

  // What the turn looks at before each message: what the actor is told, and, beside it, whether high
  // messages have come (set by senders), or what was taken is sorted (the turn's). See priorities.cpp.
  enum class urgent : std::uint8_t {
    nothing,
    link_broken,
    stop,
    stop_now,
    fail,
    unreachable,  // the search for cycles has begun its end
    look_again,   // these two only within a turn
    end_of_turn
  };
  static constexpr std::uint8_t high_pushed = 0x40;
  static constexpr std::uint8_t high_sorted = 0x80;
  static constexpr urgent told_in(std::uint8_t word) noexcept {
    return static_cast<urgent>(word & ~(high_pushed | high_sorted));
  }

  static control_block* hold_when_decided(lifeline& line, std::uint32_t generation) noexcept;
  void let_go_last() noexcept;
  void free_slot() noexcept;
  static void count_accepted(system_state& home, std::size_t bytes) noexcept;
  static void count_gone(system_state& home, std::size_t messages, std::size_t bytes) noexcept;
  delivery refuse(envelope& message) noexcept { return refuse(message, reason_); }
  delivery refuse(envelope& message, exit_reason because) noexcept;
  // Nobody is left behind it; its own slot may be ending meanwhile, so its reason is not to be read.
  delivery refuse_by_router(envelope& message) noexcept {
    return refuse(message, exit_reason::stopped);
  }
  delivery send_slowly(envelope& message, std::size_t bytes) noexcept;
  delivery send_within(envelope& message, std::size_t bytes, bool may_redirect) noexcept;
  delivery overflow(envelope& message, bool may_redirect) noexcept;
  envelope* redirected(const redirection& where, envelope& message) noexcept;
  delivery redirect(const redirection& where, envelope& message) noexcept;
  delivery slow_down(const dispatch& how) noexcept;
  void tell_sent(const dispatch& how, std::uint64_t trace) noexcept;
  void tell_started() noexcept;
  void drop(envelope& message, overload_event::kind why) noexcept;
  void no_longer_waits(const dispatch& how, std::size_t bytes) noexcept;
  void fail_for_overload() noexcept;
  bool raise(urgent what) noexcept;
  void no_longer(urgent what) noexcept;
  [[nodiscard]] bool has_broken_link() noexcept;
  void wake() noexcept;
  [[nodiscard]] bool take_place(const dispatch& how) noexcept;
  void keep_place(const dispatch& how) noexcept;
  void give_place_back(const dispatch& how) noexcept;
  [[nodiscard]] bool is_pumped_here() const noexcept;
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
    std::size_t handled;  // and not counted yet
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
  envelope* next_of(const dispatch& how) noexcept;
  void tell_of_batch(const dispatch& how, std::size_t messages,
                     void (observer::*what)(const observer::message_event&)) noexcept;
  void put_aside(envelope& message) noexcept;
  [[nodiscard]] bool rests(bool is_exclusive, std::uint32_t low) noexcept;
  void give_back_to_budget(std::size_t bytes) noexcept;
  [[nodiscard]] bool waits_for_something() const noexcept;
  bool go_on_with_held_up() noexcept;
  bool call(void (*function)(void*), const dispatch& as) noexcept;
  void report_failure(std::string_view during) noexcept;
  void report_failure(std::string_view during, std::string_view what) noexcept;
  turn_result end_for(urgent why, activity& mine) noexcept;
  turn_result end(exit_reason reason, activity& mine) noexcept;
  [[nodiscard]] bool comes_back(exit_reason reason) noexcept;
  turn_result end_incarnation(exit_reason reason, activity& mine) noexcept;
  [[nodiscard]] std::optional<turn_result> next_incarnation(activity& mine) noexcept;
  void has_started() noexcept;
  void forget_mailbox(activity& mine) noexcept;
  struct unhandled_messages {
    std::size_t messages = 0;  // that were in the mailbox, the runtime's own included
    std::size_t bytes = 0;
    std::size_t of_users = 0;
  };
  void discard_unhandled(envelope& message, unhandled_messages& counts) noexcept;
  void end_handlers(exit_reason reason) noexcept;
  void end_watches() noexcept;
  void finish(exit_reason reason, activity* mine, bool alone) noexcept;
  void move_to(phase next) noexcept;
  void free_object_memory() noexcept;

  // phase_'s word also says whether somebody waits for the end on it; the rest is the turn's: whether
  // a handler is exclusive, and what becomes of an actor with several objects.
  static constexpr std::uint32_t phase_mask = 0xff;
  static constexpr std::uint32_t waited_for = 0x100;
  static constexpr std::uint32_t exclusive = 0x200;
  static constexpr std::uint32_t between = 0x400;  // two incarnations, from the end of the first on
  static constexpr std::uint32_t for_good = 0x800;  // there will be no further one

  [[nodiscard]] mailbox inbox() noexcept { return {head().pushed, taken_}; }

  // The first cache line of the slot, with its head: what senders look at, and the word that they change.
  // From `taken_` on it is the reader's, with the object behind it.
  system_state* const home_;
  executor* const executor_;
  const actor_type* type_;  // constant once the lifeline is open
  atomic<side_block*> side_{nullptr};
  atomic<std::uint32_t> phase_;
  [[no_unique_address]] mailbox_list taken_;  // its last 4 bytes are the next three members
  atomic<std::uint8_t> urgent_{0};
  exit_reason reason_ = exit_reason::unknown;  // the turn's, until the mailbox is closed
  const std::uint16_t epoch_;                  // of home_: whether it is still the same system
  // The envelope for let_go_last(). Not an `envelope`, whose alignment the block does not have; its
  // place in the slot has.
  std::byte last_reference_[sizeof(envelope)];
  atomic<const dispatch*> handling_;
};

static_assert(sizeof(slot_head) + sizeof(control_block) == 104,
              "with the base class and 16 bytes of state an actor takes 128");

inline constexpr std::size_t head_bytes = sizeof(slot_head) + sizeof(control_block);

/// Where behind its control block an object of this size lies.
constexpr std::uint32_t object_offset(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t begin = (head_bytes + alignment - 1) / alignment * alignment;
  if (alignment > cache_line_bytes || begin + bytes > stable_pool<slot_head>::bytes_max) {
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

/// The actor whose handler runs on this thread, or nobody.
inline address current_address() noexcept {
  return this_turn().running != nullptr ? this_turn().running->where() : address{};
}

// By a thread that is in no turn of the system.
void count_foreign(system_state& home, std::int64_t accepted, std::int64_t handled,
                   std::int64_t bytes) noexcept;
/// Tells the budget what has come together in one thread's counts.
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
  // With the last reference the message may take the block along: after the push to a busy reader
  // nothing of it may be touched. An idle one waits for schedule().
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

/// Sends a message for which `how` was made.
template <bool WithSender, class M>
delivery post(control_block& to, const dispatch& how, M&& message) {
  auto* const e = make_envelope<WithSender>(how, std::forward<M>(message));
  if constexpr (WithSender) e->sender = current_address();
  return to.send(*e);
}

/// Sends what must arrive whatever the limits are: it counts for nothing.
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
