// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/control_block.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

#include <troupe/actor/spawn_options.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/scheduler/tuning.hpp>

#include "bonds.hpp"
#include "drop_ring.hpp"
#include "handler_frame.hpp"
#include "kept_message.hpp"
#include "marking.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "watching.hpp"

namespace troupe::detail {

namespace {

using slots = stable_pool<lifeline>;

// ── The runtime's own messages ────────────────────────────────────────────────────────────────

void run_stop(void* actor, envelope& e) {
  free_envelope(e);
  control_block& me = *this_turn().running;
  if (me.type().on_told_to_stop != nullptr) return me.type().on_told_to_stop(actor);
  me.end_after_this_message();
}
void run_nothing(void*, envelope& e) { free_envelope(e); }
void discard_plain(envelope& e) noexcept { free_envelope(e); }

void run_last_reference(void*, envelope&) { this_turn().running->nobody_is_left(); }
void discard_last_reference(envelope&) noexcept { this_turn().running->nobody_is_left(); }

constexpr dispatch stop_dispatch{
    .run = run_stop, .discard = discard_plain, .message = "stop", .internal = true};
// Wakes an idle actor, so that it looks at what is urgent.
constexpr dispatch wake_dispatch{.run = run_nothing,
                                 .discard = discard_plain,
                                 .message = "stop_now",
                                 .internal = true,
                                 .at_once = true};
constexpr dispatch last_reference_dispatch{.run = run_last_reference,
                                           .discard = discard_last_reference,
                                           .message = "last reference",
                                           .internal = true,
                                           .at_once = true};

// Never in a mailbox: what handling() says while these run.
constexpr dispatch constructor_dispatch{nullptr, nullptr, "its constructor", false, true};
constexpr dispatch on_start_dispatch{nullptr, nullptr, "on_start", false, true};
constexpr dispatch paused_dispatch{nullptr, nullptr, "waiting for room in a full mailbox", false,
                                   true};

// Says whose turn it is. There is none before it: other_turns_scope sees to that.
class turn_scope {
 public:
  turn_scope(control_block& whose, activity* counts) noexcept : here_(this_turn()) {
    here_.running = &whose;
    here_.counts = counts;
  }
  turn_scope(const turn_scope&) = delete;
  turn_scope& operator=(const turn_scope&) = delete;
  ~turn_scope() {
    here_.running = nullptr;
    here_.counts = nullptr;
    here_.after = after::nothing;
    if (here_.waits_for != nullptr) [[unlikely]]
      std::exchange(here_.waits_for, nullptr)->let_go();  // it has ended instead
  }

  [[nodiscard]] turn_context& here() const noexcept { return here_; }

 private:
  turn_context& here_;
};

bool object_is_elsewhere(const actor_type& type) noexcept {
  return type.object_offset == actor_type::elsewhere;
}

std::size_t slot_bytes(const actor_type& type) noexcept {
  if (object_is_elsewhere(type)) return head_bytes + sizeof(void*);
  return head_bytes + type.object_offset + type.object_bytes;
}

}  // namespace

void count_foreign(system_state& home, std::int64_t accepted, std::int64_t handled,
                   std::int64_t bytes) noexcept {
  static_cast<runtime&>(home).count_foreign(accepted, handled, bytes);
}

void settle(system_state& home, activity& counts) noexcept {
  static_cast<runtime&>(home).settle(counts);
}

// ── The slot ──────────────────────────────────────────────────────────────────────────────────

control_block::control_block(const actor_type& type, runtime& home, executor& runs_on) noexcept
    : home_(&home),
      executor_(&runs_on),
      type_(&type),
      phase_(
          static_cast<std::uint32_t>(type.on_start != nullptr ? phase::starting : phase::running)),
      epoch_(home.epoch()),
      handling_(&constructor_dispatch) {}

// Null if nothing is asked for that needs one.
static std::unique_ptr<side_block> make_side_block(const actor_type& type, const runtime& home,
                                                   const spawn_options* options,
                                                   std::unique_ptr<incarnations> again) {
  auto side = std::make_unique<side_block>();
  if (options != nullptr) {
    side->name = options->name;
    side->own = make_rules(*options, type, home.max_messages(), home.max_bytes(), home.looked_at);
  }
  if (type.limited_messages != 0) {
    side->of_type = std::make_unique<atomic<std::uint16_t>[]>(type.limited_messages);
  }
  side->again = std::move(again);
  if (side->name.empty() && side->own == nullptr && side->of_type == nullptr &&
      side->again == nullptr) {
    return nullptr;
  }
  return side;
}

control_block& control_block::make(const actor_type& type, runtime& home, executor& runs_on,
                                   const spawn_options* options,
                                   std::unique_ptr<incarnations> again) {
  std::unique_ptr<side_block> side;
  if (options != nullptr || type.limited_messages != 0 || again != nullptr) {
    side = make_side_block(type, home, options, std::move(again));
  }
  const bool elsewhere = object_is_elsewhere(type);
  void* const memory =
      elsewhere ? ::operator new(type.object_bytes, std::align_val_t{type.object_alignment})
                : nullptr;
  lifeline* line;
  try {
    line = slots::take(slot_bytes(type));
  } catch (...) {
    if (elsewhere) ::operator delete(memory, std::align_val_t{type.object_alignment});
    throw;
  }
  auto* const block = ::new (line + 1) control_block(type, home, runs_on);
  if (elsewhere) *reinterpret_cast<void**>(block + 1) = memory;
  if (side != nullptr && side->own != nullptr) block->type_ = &side->own->type;
  TROUPE_ASSERT(reinterpret_cast<std::uintptr_t>(block->last_reference_) % alignof(envelope) == 0,
                "the layout of control_block has changed: its envelope is not aligned");
  ::new (block->last_reference_) envelope{nullptr, &last_reference_dispatch};
  block->mailbox_.open_busy();
  block->side_.store(side.release(), relaxed);  // [life-open] published by open()
  line->open();
  return *block;
}

void control_block::free_object_memory() noexcept {
  if (object_is_elsewhere(*type_)) {
    ::operator delete(object(), std::align_val_t{type_->object_alignment});
  }
}

void control_block::free_slot() noexcept {
  const std::size_t bytes = slot_bytes(*type_);  // the type may be in the side block
  delete side_if_any();
  lifeline& slot = line();
  std::destroy_at(this);
  // A slot whose generations are used up is left alone for ever, lest an old address fit it.
  if (slot.free()) slots::give_back(&slot, bytes);
}

side_block* control_block::side_if_any() const noexcept {
  // [side] acquire: its name may have been written by another thread.
  // [end-side] seq_cst: see lifeline::end().
  return side_.load(seq_cst);
}

side_block& control_block::side() {
  side_block* there = side_if_any();
  if (there != nullptr) return *there;
  auto fresh = std::make_unique<side_block>();
  // [side] release: pairs with side_if_any(). [end-side] seq_cst.
  // [unchecked: failure] With acquire, another thread's side block would be found, but need not
  // come before the look at the lifeline in S (P0668); the model checker puts it there all the same.
  if (side_.compare_exchange_strong(there, fresh.get(), seq_cst, seq_cst)) return *fresh.release();
  return *there;
}

// ── References ────────────────────────────────────────────────────────────────────────────────

control_block* control_block::hold(const address& of) noexcept {
  lifeline* const line = address_access::line(of);
  if (line == nullptr || !line->try_hold(address_access::generation(of))) return nullptr;
  return &control_block::of(*line);
}

control_block* control_block::hold_to_the_end(const address& of) noexcept {
  lifeline* const line = address_access::line(of);
  if (line == nullptr || !line->try_hold_to_the_end(address_access::generation(of))) return nullptr;
  return &control_block::of(*line);
}

// An actor ends in a turn of its own, so the last reference is not let go of here but handed to
// it. There is one last reference at a time, so last_reference_ is free: it counts as a reference
// until nobody_is_left() takes it off.
void control_block::let_go_last() noexcept {
  // [life-last] acquire: the place in the mailbox may have been used before; who took that message
  // out has let go since.
  if (!line().now_after_others().ended() &&
      try_deliver(*std::launder(reinterpret_cast<envelope*>(last_reference_)))) {
    return;
  }
  if (line().let_go()) free_slot();
}

void control_block::nobody_is_left() noexcept { (void)line().let_go(); }

// ── Sending ───────────────────────────────────────────────────────────────────────────────────

delivery control_block::deliver(envelope& message) noexcept {
  return try_deliver(message) ? delivery::accepted : refuse(message);
}

delivery control_block::refuse(envelope& message) noexcept {
  if (!message.how->internal) dead_letter(message);
  const no_answer_scope as(reason_);
  message.how->discard(message);
  return delivery::refused;
}

void control_block::dead_letter(const envelope& message) noexcept {
  // A reference may outlive the system; then there is nobody to tell.
  if (epoch_ == home().epoch()) home().dead({where(), message.how->message, trace_of(message)});
}

void control_block::stop() {
  deliver(*::new (pool_allocate(sizeof(envelope))) envelope{nullptr, &stop_dispatch});
}

void control_block::stop_now() {
  struct held {
    control_block& block;
    ~held() { block.let_go(); }
  } guard{*this};
  hold();
  // In this order: what end_object() ends is not between two objects by then, and comes back.
  if (!decide(next_object::never, exit_reason::stopped_now)) end_object();
}

void control_block::end_object() {
  auto* const message = ::new (pool_allocate(sizeof(envelope))) envelope{nullptr, &wake_dispatch};
  hold();
  // [urgent] relaxed: the message behind it orders it, and brings the turn about if there is none;
  // who pauses looks at it under the mutex that release() takes afterwards.
  constexpr std::uint8_t about_messages = high_pushed | high_sorted;
  std::uint8_t now = urgent_.load(relaxed);
  while (!urgent_.compare_exchange_weak(
      now,
      static_cast<std::uint8_t>((now & about_messages) |
                                static_cast<std::uint8_t>(urgent::stop_now)),
      relaxed, relaxed)) {
  }
  deliver(*message);
  home().pauses().release(*this);
  let_go();
}

// Somebody holds it.
void control_block::wake() noexcept {
  try {
    deliver(*::new (pool_allocate(sizeof(envelope))) envelope{nullptr, &wake_dispatch});
  } catch (...) {
    // No memory: it notices at its next message.
  }
  home().pauses().release(*this);
}

// ── The spawner's ─────────────────────────────────────────────────────────────────────────────

void control_block::started() noexcept {
  handling_.store(nullptr, relaxed);  // [handling]
  if (home_->looked_at && type_->on_start == nullptr) [[unlikely]]
    tell_started();
  if (type_->on_start == nullptr && mailbox_.rest()) return;
  executor_->schedule(*this);
}

void control_block::abandon() noexcept {
  const other_turns_scope others;
  const turn_scope scope(*this, nullptr);
  line().begin_end();
  end_watches();
  finish(exit_reason::failed, nullptr, false);
}

// ── The turn's ────────────────────────────────────────────────────────────────────────────────

turn_result control_block::turn(runnable& r, activity& mine) noexcept {
  return static_cast<control_block&>(r).run_turn(mine, tuning::turn_messages, true);
}

turn_result control_block::turn_of(runnable& r, activity& mine, std::size_t most) noexcept {
  return static_cast<control_block&>(r).run_turn(mine, std::min(most, tuning::turn_messages), true);
}

inline bool control_block::refill(std::uint32_t low, activity& mine) noexcept {
  const mailbox::refilled got = mailbox_.refill(low);
  if (got.room) [[unlikely]]
    home().pauses().release_waiters_of(*this);
  if (got.messages == 0) return false;
  mine.depth_highest.raise_to(got.messages);
  return true;
}

void control_block::collect(runnable& r, activity& mine) noexcept {
  auto& block = static_cast<control_block&>(r);
  // [high] relaxed: only a look.
  if ((block.urgent_.load(relaxed) & (high_pushed | high_sorted)) != 0) [[unlikely]] {
    block.sort_waiting(true, mine);
  } else {
    (void)block.refill(block.rules().low, mine);
  }
}

turn_result control_block::turn_collected(runnable& r, activity& mine) noexcept {
  return static_cast<control_block&>(r).run_turn(mine, std::numeric_limits<std::size_t>::max(),
                                                 false);
}

// What it keeps stays counted in the mailbox, and a handler that is exclusive is what it is doing.
inline bool control_block::rests(bool is_exclusive, std::uint32_t low) noexcept {
  const side_block* const its = side_if_any();
  handling_.store(is_exclusive ? its->exclusive->how : nullptr, relaxed);  // [handling]
  return mailbox_.rest(its != nullptr ? its->kept_units : 0, low);
}

void control_block::give_back_to_budget(std::size_t bytes) noexcept {
  if (const overload_rules* const own = own_rules(); own != nullptr && own->budget != nullptr) {
    own->budget->release(bytes);
  }
}

// `may_refill`: what has come since the reader's list was made is handled too.
turn_result control_block::run_turn(activity& mine, std::size_t most, bool may_refill) noexcept {
  const turn_scope scope(*this, &mine);
  mine.turns.add(1);
  bool is_exclusive = false;
  // [phase] relaxed: the turn's own part of the word.
  if (const std::uint32_t now = phase_.load(relaxed) & ~waited_for;
      now != static_cast<std::uint32_t>(phase::running)) [[unlikely]] {
    if ((now & between) != 0) {
      if (const auto otherwise = next_incarnation(mine)) return *otherwise;
    }
    if (in_life() == phase::starting) {
      move_to(phase::running);
      if (!call(type_->on_start, on_start_dispatch)) return end(exit_reason::failed, mine);
      has_started();
      scope.here().after = after::nothing;
      if (pauses_now(scope.here())) return turn_result::resting;
    }
    is_exclusive = has_exclusive();
  }
  const sending_rules& bounds = rules();
  void* const actor = object();
  std::size_t handled = 0;
  std::size_t bytes = 0;
  const auto count = [&] {
    if (!bounds.plain) [[unlikely]]
      give_back_to_budget(bytes);
    const bool is_to_settle = mine.count_gone(handled, bytes);
    handled = bytes = 0;
    if (is_to_settle || home_->has_budget) [[unlikely]]
      settle(*home_, mine);
  };
  for (;;) {
    // [urgent] relaxed: see stop_now(). It is looked at before each message, so it overtakes all.
    if (urgent_.load(relaxed) != 0) [[unlikely]] {
      const urgent what = look_at_urgent(most, may_refill, mine);
      if (what == urgent::look_again) continue;
      if (what != urgent::nothing) {
        count();
        return end_for(what, mine);
      }
    }
    if (most == 0 && !mailbox_.is_empty()) break;
    if (!mailbox_.has_ready()) {
      if (!may_refill && !mailbox_.is_empty()) break;
      if (refill(bounds.low, mine)) {
        if (most == 0) [[unlikely]]
          break;
      } else {
        count();
        // Nobody can send to it any more, and nobody has: it ends here.
        if (line().now().count() == 0 && !waits_for_something()) [[unlikely]] {
          if (!type_->ends_silently || side_if_any() != nullptr) {
            if (line().try_begin_end()) return end(exit_reason::unreachable, mine);
          } else if (line().try_end_at_once()) {
            finish(exit_reason::unreachable, &mine, true);
            return turn_result::ended;
          }
        }
        if (rests(is_exclusive, bounds.low)) return turn_result::resting;
        continue;
      }
    }
    envelope& message = mailbox_.pop_ready();
    const dispatch& how = *message.how;
    const std::size_t charge = how.charge(message);
    --most;
    if (is_exclusive && !how.at_once) [[unlikely]] {
      put_aside(message);
      side_if_any()->kept_units += static_cast<std::uint32_t>(bounds.units(charge, how.weight));
      continue;
    }
    ++handled;
    bytes += charge;
    if (how.most != 0) [[unlikely]]
      give_place_back(how);
    now_handling(how);
    try {
      how.run(actor, message);
    } catch (...) {
      report_failure(handling()->message);
      count();
      // It may have a next object, and does not wait for that.
      (void)mailbox_.handled(bounds.units(charge, how.weight), bounds.quantum);
      return end(exit_reason::failed, mine);
    }
    const std::uint8_t also = scope.here().after;
    if ((also & after::keep) != 0) [[unlikely]] {
      --handled;
      bytes -= charge;
      side_if_any()->kept_units += static_cast<std::uint32_t>(bounds.units(charge, how.weight));
      if (how.most != 0) keep_place(how);
    } else if (mailbox_.handled(bounds.units(charge, how.weight), bounds.quantum)) [[unlikely]] {
      if (mailbox_.make_room(bounds.low)) home().pauses().release_waiters_of(*this);
    }
    if (also != after::nothing) [[unlikely]] {
      if ((also & after::exclusive) != 0 && !go_on_with_held_up()) {
        count();
        return end(exit_reason::failed, mine);
      }
      if ((also & after::batch) != 0) most -= std::min(most, scope.here().handled_too);
      is_exclusive = has_exclusive();
      scope.here().after = after::nothing;
      if (scope.here().waits_for != nullptr) {
        count();
        if (pauses_now(scope.here())) return turn_result::resting;
      }
    }
  }
  handling_.store(nullptr, relaxed);  // [handling]
  count();
  return turn_result::again;
}

// After a handler that has sent to a full mailbox. True: somebody else gives it its next turn, and may
// be doing so.
bool control_block::pauses_now(turn_context& here) noexcept {
  control_block* const receiver = std::exchange(here.waits_for, nullptr);
  if (receiver == nullptr) return false;
  // Who has much to do himself goes on, lest two that wait for each other stand still.
  if (mailbox_.units() > rules().low) {
    receiver->let_go();
    return false;
  }
  receiver->tell_overload(overload_event::kind::paused, *here.sent_to_full);
  now_handling(paused_dispatch);
  if (receiver->home().pauses().pause(*this, *receiver)) return true;
  handling_.store(nullptr, relaxed);  // [handling]
  return false;
}

turn_result control_block::end_for(urgent why, activity& mine) noexcept {
  switch (why) {
    case urgent::end_of_turn:
      handling_.store(nullptr, relaxed);  // [handling]
      return turn_result::again;
    case urgent::link_broken:
      return end(exit_reason::link_broken, mine);
    case urgent::stop:
      return end(exit_reason::stopped, mine);
    case urgent::fail:
      report_failure("overload", "its mailbox was full, as overload::fail_receiver asks");
      return end(exit_reason::failed, mine);
    default:
      return end(exit_reason::stopped_now, mine);
  }
}

void control_block::end_after_this_message() noexcept { (void)raise(urgent::stop); }

// False if something else is urgent already. A broken link gives way: whether it still counts, the turn
// sees when it looks.
bool control_block::raise(urgent what) noexcept {
  std::uint8_t now = 0;
  std::uint8_t next = 0;
  do {
    const urgent told = told_in(now);
    if (told != urgent::nothing && told != urgent::link_broken) return false;
    next = static_cast<std::uint8_t>((now & (high_pushed | high_sorted)) |
                                     static_cast<std::uint8_t>(what));
    // [urgent] relaxed: as in stop_now().
  } while (!urgent_.compare_exchange_weak(now, next, relaxed, relaxed));
  return true;
}

void control_block::no_longer(urgent what) noexcept {
  std::uint8_t now = urgent_.load(relaxed);  // [urgent] relaxed: as in stop_now()
  while (told_in(now) == what &&
         !urgent_.compare_exchange_weak(
             now, static_cast<std::uint8_t>(now & (high_pushed | high_sorted)), relaxed, relaxed)) {
  }
}

void control_block::link_broken() noexcept {
  if (raise(urgent::link_broken)) wake();
}

// Back to nothing first: a link that breaks behind the look makes it urgent again.
bool control_block::has_broken_link() noexcept {
  no_longer(urgent::link_broken);
  side_block& its = *side_if_any();
  return take_broken_link(its.bonds, its.what);
}

// After an exclusive handler. False if one of them threw; that has been reported.
bool control_block::go_on_with_held_up() noexcept {
  try {
    resume_held_up();
    return true;
  } catch (...) {
    report_failure(handling()->message);
    return false;
  }
}

// False if it threw; that has been reported.
bool control_block::call(void (*function)(void*), const dispatch& as) noexcept {
  now_handling(as);
  try {
    function(object());
    return true;
  } catch (...) {
    report_failure(as.message);
    return false;
  }
}

// Within a catch block.
void control_block::report_failure(std::string_view during) noexcept {
  try {
    throw;
  } catch (const std::exception& e) {
    report_failure(during, e.what());
  } catch (...) {
    report_failure(during, "an exception that is no std::exception");
  }
}

void control_block::report_failure(std::string_view during, std::string_view what) noexcept {
  try {
    home().actor_failed({where(), name(), during, what, std::exchange(this_turn().trace, 0)});
    side().what = what;
  } catch (...) {
    // No memory to keep the text in: the failure itself has been told.
  }
}

// ── For looking at ────────────────────────────────────────────────────────────────────────────

phase control_block::in_life() const noexcept {
  // [phase] acquire: who sees the end sees what the actor did, and why it ended.
  return static_cast<phase>(phase_.load(acquire) & phase_mask);
}

void control_block::move_to(phase next) noexcept {
  // [phase] release. An exchange, because a waiter may have left its mark.
  std::uint32_t before = phase_.load(relaxed);
  while (!phase_.compare_exchange_weak(
      before, static_cast<std::uint32_t>(next) | (before & (waited_for | for_good)), release,
      relaxed)) {
  }
  if (next == phase::ended && (before & waited_for) != 0) {
    futex_wake(phase_, std::numeric_limits<std::int32_t>::max());
  }
}

bool control_block::wait_for_end(const time_point* deadline) noexcept {
  for (;;) {
    std::uint32_t now = phase_.load(acquire);  // [phase]
    if (static_cast<phase>(now & phase_mask) == phase::ended) return true;
    // [phase] relaxed: only leaves a mark.
    if ((now & waited_for) == 0 &&
        !phase_.compare_exchange_strong(now, now | waited_for, relaxed, relaxed)) {
      continue;
    }
    if (deadline == nullptr) {
      futex_wait(phase_, now | waited_for);
    } else if (futex_wait_until(phase_, now | waited_for, *deadline)) {
      return in_life() == phase::ended;
    }
  }
}

void control_block::now_handling(const dispatch& what) noexcept {
  handling_.store(&what, relaxed);  // [handling] relaxed: for people to look at
}

const dispatch* control_block::handling() const noexcept {
  return handling_.load(relaxed);  // [handling]
}

std::string_view control_block::name() const noexcept {
  const side_block* const side = side_if_any();
  return side != nullptr && !side->name.empty() ? std::string_view{side->name} : type_->name;
}

}  // namespace troupe::detail
