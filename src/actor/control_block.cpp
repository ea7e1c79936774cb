// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/actor/control_block.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include <troupe/actor/spawn_options.hpp>
#include <troupe/detail/base/assert.hpp>

#include "base/accounts.hpp"
#include "forked.hpp"
#include "observed_messages.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "termination_notices.hpp"

namespace troupe::detail {

namespace {

// ── The runtime's own messages ────────────────────────────────────────────────────────────────

// If another reason ends the object first, there may be a next incarnation, which is told to stop
// again.
void run_stop(void* actor, envelope& e) {
  control_block& me = *this_turn().running;
  if (me.type().on_told_to_stop != nullptr) {
    e.how->discard(e);
    me.type().on_told_to_stop(actor);
  } else if (me.end_after_this_message()) {
    e.how->discard(e);
  } else {
    me.deliver(e);
  }
}
void run_nothing(void*, envelope& e) { free_envelope(e); }
void discard_plain(envelope& e) noexcept { free_envelope(e); }

void run_last_reference(void*, envelope&) { this_turn().running->nobody_is_left(); }
void discard_last_reference(envelope&) noexcept { this_turn().running->nobody_is_left(); }

constexpr dispatch stop_dispatch{
    .run = run_stop, .discard = discard_plain, .message = "stop", .internal = true};
// The same, for use when there is no memory for it.
constexpr dispatch stop_in_reserve_dispatch{
    .run = run_stop, .discard = stop_reserve::give_back, .message = "stop", .internal = true};
// Wakes an idle actor so that it checks what is urgent.
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

// Never in a mailbox: handling() returns it while the constructor runs.
constexpr dispatch constructor_dispatch{nullptr, nullptr, "its constructor", false, true};

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
    : executor_(&runs_on),
      type_(&type),
      phase_(
          static_cast<std::uint32_t>(type.on_start != nullptr ? phase::starting : phase::running)),
      epoch_(home.epoch()),
      handling_(&constructor_dispatch) {
  TROUPE_ASSERT(reinterpret_cast<std::byte*>(&home_ + 1) ==
                    reinterpret_cast<std::byte*>(this) + kept_of_control_block,
                "the layout of control_block has changed: the pool may write to home_");
  // [home] relaxed: open() publishes it. Not a plain store, because hold_in() may read it
  // meanwhile, and then finds that the slot has a new owner. [unchecked]
  __atomic_store_n(&home_, static_cast<system_state*>(&home), __ATOMIC_RELAXED);
}

bool control_block::deliver_hidden(envelope& message) noexcept {
  const mailbox::pushed result = inbox().push(message);
  TROUPE_ASSERT(result != mailbox::pushed::closed, "a hidden actor has ended");
  return result == mailbox::pushed::to_idle;
}

// Null if nothing is requested that needs one.
static std::unique_ptr<side_block> make_side_block(const actor_type& type, const runtime& home,
                                                   const spawn_options* options,
                                                   std::unique_ptr<incarnations> again) {
  auto side = std::make_unique<side_block>();
  if (options != nullptr || type.on_full != overflow_policy::backpressure) {
    static const spawn_options as_usual;
    if (options == nullptr) options = &as_usual;
    side->name = options->name;
    side->own = make_rules(*options, type, home.max_messages(), home.max_bytes(), home.looked_at);
  }
  if (type.limited_messages != 0) {
    side->of_type = std::make_unique<atomic<std::uint16_t>[]>(type.limited_messages);
  }
  side->supervised = again != nullptr;
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
  if (options != nullptr || type.limited_messages != 0 || again != nullptr ||
      type.on_full != overflow_policy::backpressure) {
    side = make_side_block(type, home, options, std::move(again));
  }
  const bool elsewhere = object_is_elsewhere(type);
  void* const memory =
      elsewhere ? ::operator new(type.object_bytes, std::align_val_t{type.object_alignment})
                : nullptr;
  slot_head* slot;
  try {
    slot = actor_slots::take(slot_bytes(type));
  } catch (...) {
    if (elsewhere) ::operator delete(memory, std::align_val_t{type.object_alignment});
    throw;
  }
  auto* const block = ::new (slot + 1) control_block(type, home, runs_on);
  if (elsewhere) *reinterpret_cast<void**>(block + 1) = memory;
  if (side != nullptr && side->own != nullptr) block->type_ = &side->own->type;
  TROUPE_ASSERT(reinterpret_cast<std::uintptr_t>(block->last_reference_) % alignof(envelope) == 0,
                "the layout of control_block has changed: its envelope is not aligned");
  ::new (block->last_reference_) envelope{nullptr, &last_reference_dispatch};
  block->inbox().open_busy();
  block->side_.store(side.release(), relaxed);  // [life-open] published by open()
  slot->life.open();
  return *block;
}

void control_block::free_object_memory() noexcept {
  if (object_is_elsewhere(*type_)) {
    ::operator delete(object(), std::align_val_t{type_->object_alignment});
  }
}

// Checks that other actors and threads have left no entry for this one. Nothing refers to the actor
// any more: so no mutex is needed, and an entry that is left would be used after the end of its
// actor.
static void expect_no_entries(const side_block& its) noexcept {
  if (unsettled_account == nullptr) return;
  expect_settled("suspended senders in the list of an actor", its.waiters != nullptr);
  expect_settled("messages in the line of an actor",
                 its.line != nullptr || its.line_end != nullptr);
  expect_settled("the suspension of an actor", its.pause.waits_for != nullptr);
  expect_settled("mailboxes that a suspended actor holds",
                 static_cast<std::int64_t>(its.pause.others.size()) + (its.pause.first != nullptr));
  expect_settled("the place of an exclusive handler in a line", its.blocking_line != nullptr);
  // [overdrawn] relaxed: no other thread charges any more; see side_block.
  expect_settled("bytes of an actor in the overdraft",
                 static_cast<std::int64_t>(its.overdrawn.load(relaxed)));
  expect_settled("messages that a mailbox does not count",
                 static_cast<std::int64_t>(its.uncounted));
  expect_settled("listeners to the end of an actor", its.termination_notices.listeners != nullptr);
  expect_settled("monitors of an actor", its.termination_notices.watchers != nullptr);
  expect_settled("links of an actor", its.termination_notices.links != nullptr);
}

void control_block::free_slot() noexcept {
  const std::size_t bytes = slot_bytes(*type_);  // the type may be in the side block
  if (const side_block* const its = side_if_any()) {
    expect_no_entries(*its);
    delete its;
  }
  slot_head& slot = head();
  std::destroy_at(this);
  // A slot whose generations are used up is never reused, so that no old address can match it.
  if (slot.life.free()) actor_slots::give_back(&slot, bytes);
}

side_block& control_block::side() {
  side_block* there = side_if_any();
  if (there != nullptr) return *there;
  auto fresh = std::make_unique<side_block>();
  // [side] release: pairs with side_if_any(). [end-side] seq_cst.
  // [unchecked: failure] With acquire, another thread's side block would be found, but need not
  // precede the read of the lifeline in the order S (P0668). The model checker nevertheless orders
  // it first.
  if (side_.compare_exchange_strong(there, fresh.get(), seq_cst, seq_cst)) return *fresh.release();
  return *there;
}

// ── References ────────────────────────────────────────────────────────────────────────────────

control_block* control_block::hold(const address& of) noexcept {
  lifeline* const line = address_access::line(of);
  if (line == nullptr) return nullptr;
  const std::uint32_t generation = address_access::generation(of);
  if (line->try_hold(generation)) [[likely]]
    return &control_block::of(*line);
  return hold_when_decided(*line, generation);
}

control_block* control_block::hold_to_the_end(const address& of) noexcept {
  lifeline* const line = address_access::line(of);
  if (line == nullptr || !line->try_hold_to_the_end(address_access::generation(of))) return nullptr;
  return &control_block::of(*line);
}

// The slot may already be free, but its memory always stays a slot, and the pool writes to other
// parts of it.
const system_state* control_block::home_now() const noexcept {
  return __atomic_load_n(&home_, __ATOMIC_RELAXED);  // [home]
}

bool control_block::is_in(lifeline& line, const system_state& home) noexcept {
  // [life-gone] acquire: everything done by threads that have released it happens before.
  // [life-open] as below.
  return line.now_after_others().in_use() && of(line).home_now() == &home;
}

control_block* control_block::hold_in(lifeline& line, const system_state& home) noexcept {
  // [life-open] acquire: if the actor exists, its home_ is visible.
  const lifeline::state seen = line.now_after_others();
  if (!seen.in_use() || of(line).home_now() != &home) return nullptr;
  return line.try_hold_in_use(seen.generation()) ? &of(line) : nullptr;
}

// An actor terminates in a turn of its own, so the last reference is not released here but
// transferred to the actor. There is only one last reference at a time, so last_reference_ is free.
// It counts as a reference until nobody_is_left() releases it.
void control_block::let_go_last() noexcept {
  // In a forked child the actor cannot terminate: it stays as it is.
  if (is_forked_child()) [[unlikely]]
    return;
  // [life-last] acquire: the envelope may have been in the mailbox before; the turn that took it
  // out has released its reference since.
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

delivery control_block::refuse(envelope& message, exit_reason because) noexcept {
  if (!message.how->internal) dead_letter(message, trace_of_sender());
  const no_answer_scope as(because);
  message.how->discard(message);
  return delivery::refused;
}

void control_block::dead_letter(const envelope& message, std::uint64_t otherwise) noexcept {
  // A reference may outlive the system; then there is nothing to notify.
  if (epoch_ != home().epoch()) return;
  const std::uint64_t own = trace_of(message);
  home().dead({where(), message.how->message, own != 0 ? own : otherwise});
}

std::uint64_t control_block::trace_of_sender() const noexcept {
  return home_->traces ? this_turn().trace : 0;
}

void control_block::stop() {
  home().check_threads("no actor can stop");
  envelope* message = nullptr;
  try {
    message = ::new (pool_allocate(sizeof(envelope))) envelope{nullptr, &stop_dispatch};
  } catch (const std::bad_alloc&) {
    // Only system shutdown must not fail for lack of memory.
    if (home().stopping()) message = home().stops_in_reserve().take(stop_in_reserve_dispatch);
    if (message == nullptr) throw;
  }
  deliver(*message);
}

void control_block::stop_at_shutdown() {
  // [phase] relaxed, both: only a mark, for the one thread that tells all actors.
  if ((phase_.load(relaxed) & told_at_shutdown) != 0) return;
  stop();
  phase_.fetch_or(told_at_shutdown, relaxed);
}

void control_block::stop_now() {
  home().check_threads("no actor can stop");
  struct held {
    control_block& block;
    ~held() { block.let_go(); }
  } guard{*this};
  hold();
  // In this order: an actor that end_object() reaches is then not between two incarnations, and can
  // be restarted.
  if (!decide(next_object::never, exit_reason::stopped_now)) end_object();
}

void control_block::end_object() {
  auto* const message = ::new (pool_allocate(sizeof(envelope))) envelope{nullptr, &wake_dispatch};
  hold();
  // [urgent] relaxed: the message sent afterwards orders it, and causes a turn if necessary;
  // a suspending actor checks it under the mutex that release() takes afterwards.
  constexpr std::uint8_t about_messages = high_pushed | high_sorted;
  std::uint8_t now = urgent_.load(relaxed);
  // A stop that has been handled stays set: a restarted actor must not forget it.
  while (told_in(now) != urgent::stop &&
         !urgent_.compare_exchange_weak(
             now,
             static_cast<std::uint8_t>((now & about_messages) |
                                       static_cast<std::uint8_t>(urgent::stop_now)),
             relaxed, relaxed)) {
  }
  deliver(*message);
  home().pauses().release(*this);
  let_go();
}

// The caller must hold a reference.
void control_block::wake() noexcept {
  try {
    deliver(*::new (pool_allocate(sizeof(envelope))) envelope{nullptr, &wake_dispatch});
  } catch (...) {
    // No memory: the actor notices at its next message.
  }
  home().pauses().release(*this);
}

// ── What is urgent ────────────────────────────────────────────────────────────────────────────

bool control_block::end_after_this_message() noexcept { return raise(urgent::stop); }

// False if something else is already urgent. A broken link gives way: the turn determines whether
// it still counts.
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

// The mark is cleared first: a link that breaks after the check makes it urgent again.
bool control_block::has_broken_link() noexcept {
  no_longer(urgent::link_broken);
  side_block& its = *side_if_any();
  return take_broken_link(its.termination_notices, its.what);
}

// ── Inspection ────────────────────────────────────────────────────────────────────────────────

phase control_block::in_life() const noexcept {
  // [phase] acquire: a thread that sees the end also sees what the actor did, and the exit reason.
  return static_cast<phase>(phase_.load(acquire) & phase_mask);
}

void control_block::move_to(phase next) noexcept {
  // [phase] release. A read-modify-write, because a waiter may have left its mark.
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

const dispatch* control_block::handling() const noexcept {
  return handling_.load(relaxed);  // [handling]
}

std::string_view control_block::name() const noexcept {
  const side_block* const side = side_if_any();
  return side != nullptr && !side->name.empty() ? std::string_view{side->name} : type_->name;
}

}  // namespace troupe::detail
