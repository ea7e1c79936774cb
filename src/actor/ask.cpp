// SPDX-License-Identifier: Apache-2.0
// How a request finds its reply; docs/decisions/0010-ask.md gives the reasons.
#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <troupe/actor/ask_future.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/base/assert.hpp>

#include "answer_slot.hpp"
#include "handler_frame.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "wait_table.hpp"

namespace troupe {
namespace detail {

namespace {

asker answers_to(control_block& me, const waiting_place& at) noexcept {
  asker to{{&me.line()}};
  to.generation = address_access::generation(me.where());
  to.place = at.place;
  to.turn = at.turn;
  return to;
}

[[noreturn]] void refuse_to_wait(std::string_view who, const char* why) {
  throw std::logic_error("get() in a handler of " + std::string(who) + ' ' + why);
}

wait_table* table_if_any(const control_block& me) noexcept {
  const side_block* const its = me.side_if_any();
  return its != nullptr ? its->waits.get() : nullptr;
}

wait_table& table_of(control_block& me) {
  if (wait_table* const there = table_if_any(me)) return *there;
  side_block& its = me.side();
  its.waits = std::make_unique<wait_table>();
  return *its.waits;
}

// Throws std::bad_alloc.
void look_by(control_block& me, wait_table& table, time_point when) {
  if (when >= table.alarm_at) return;
  me.home().timers().alarm_by(me, when);
  table.alarm_at = when;
}

// The number of the request that this handler replies to.
request_cycles::number cause_of(const handler_frame* handler) noexcept {
  return handler != nullptr && handler->asked != nullptr ? handler->asked->from.number : 0;
}

waiting_place add(control_block& me, wait_table& table, waiter& who, time_point until) {
  const waiting_place at = table.add(who, until);
  try {
    look_by(me, table, until);
  } catch (...) {
    (void)table.take(at);
    throw;
  }
  return at;
}

}  // namespace

waiting_place begin_waiting(control_block& me, waiter& who, time_point until) {
  return add(me, table_of(me), who, until);
}

waiting_place begin_waiting(control_block& me, waiter& who, duration time) {
  wait_table& table = table_of(me);
  if (time == no_timeout) return table.add(who, time_point::max());
  const time_point now = clock::now();
  const waiting_place at = add(me, table, who, later(now, time));
  if (time >= wait_table::long_time && table.looked(now)) {
    try {
      look_by(me, table, now + wait_table::hurry_lasts);
    } catch (...) {
      table.no_hurry();
      (void)table.take(at);
      throw;
    }
  }
  return at;
}

// ── Replies ───────────────────────────────────────────────────────────────────────────────────

void send_answer(request& answered) noexcept {
  answered.how = static_cast<const request_dispatch*>(answered.how)->answer;
  bring_answer(answered);
}

void send_no_answer(request& asked) noexcept {
  asked.error = this_turn().no_answer;
  send_answer(asked);
}

ask_error why_let_go() noexcept {
  const turn_context& here = this_turn();
  const ask_error ends_as = here.no_answer;
  if (ends_as == ask_error::stopped || ends_as == ask_error::failed) return ends_as;
  return std::uncaught_exceptions() > here.unwinding ? ask_error::failed : ask_error::unanswered;
}

// For a requester that is a thread, is absent, or is an actor that is not idle.
[[gnu::noinline]] static void bring_to_another(request& answered) noexcept {
  if (answered.from.place == asker::in_a_slot) return answered.from.slot->answer(answered);
  if (answered.from.line == nullptr) return answered.how->discard(answered);
  control_block* const to = control_block::hold(answered.from.who());
  if (to == nullptr) return answered.how->discard(answered);
  const bool taken = to->try_deliver(answered);
  to->let_go();
  if (!taken) answered.how->discard(answered);
}

void bring_answer(request& answered) noexcept {
  if (answered.from.place != asker::in_a_slot) [[likely]] {
    lifeline* const line = answered.from.line;
    // Most requesters are idle.
    if (line != nullptr &&
        control_block::try_deliver_to_idle(*line, answered.from.generation, answered)) [[likely]]
      return;
  }
  bring_to_another(answered);
}

void run_answer(void*, envelope& e) {
  auto& answered = static_cast<request&>(e);
  control_block& me = *this_turn().running;
  wait_table* const table = table_if_any(me);
  waiter* const who =
      table != nullptr ? table->take({answered.from.place, answered.from.turn}) : nullptr;
  if (who == nullptr) {
    me.home().count_late_answer();
    return answered.how->discard(answered);
  }
  who->answer = &answered;
  who->now = waiter::state::answered;
  if (who->handler != nullptr) resume_handler(*who->handler);
}

bool control_block::waits_for_something() const noexcept {
  const side_block* const its = side_if_any();
  if (its == nullptr) return false;
  if (its->waits != nullptr && !its->waits->empty()) return true;
  // A handler that waits only for messages waits in vain: no sender is left.
  for (const handler_frame* each = its->handlers; each != nullptr; each = each->next) {
    if (!each->waits_for_messages) return true;
  }
  return false;
}

void control_block::look_at_the_time() {
  wait_table& table = *side_if_any()->waits;
  table.alarm_at = time_point::max();
  const time_point now = clock::now();
  if (table.begin_all(now)) look_by(*this, table, now + wait_table::hurry_lasts);
  while (waiter* const who = table.take_due(now)) {
    who->now = waiter::state::late;
    if (who->handler != nullptr) resume_handler(*who->handler);
  }
  look_by(*this, table, table.next_due());
}

// ── Requests ──────────────────────────────────────────────────────────────────────────────────

// A wait that the search for cycles may follow is a wait for the worker that a router chooses. This
// is decided once: the request is then sent to the worker itself.
static control_block& asked_behind(control_block& to, const request& question) noexcept {
  control_block* const chosen = to.routed(question);
  return chosen != nullptr ? *chosen : to;
}

ask_future_base::ask_future_base(control_block& to, request& question, duration timeout)
    : to_(to.where()) {
  const turn_context& here = this_turn();
  control_block* asked = &to;
  try {
    if (here.coroutine != nullptr && here.constructors == 0) {
      me_ = here.running;
      wait_table* const table = table_if_any(*me_);
      at_ = table != nullptr && table->hurries_with(timeout) ? table->add_to_begin(*this, timeout)
                                                             : begin_waiting(*me_, *this, timeout);
      question.from = answers_to(*me_, at_);
      if (here.coroutine->followed) [[unlikely]] {
        number_ = question.from.number = request_cycles::next_number();
        asked = &asked_behind(to, question);
        to_ = asked->where();
      }
    } else {
      if (timeout != no_timeout) deadline_ = later(clock::now(), timeout);
      slot_ = &answer_slot::make(to.home());
      question.from.slot = slot_;
      question.from.place = asker::in_a_slot;
      asked = &asked_behind(to, question);
      to_ = asked->where();
    }
  } catch (...) {
    question.how->discard(question);  // the request has not been made
    throw;
  }
  const no_answer_scope as(ask_error::refused);
  asked->send(question);
}

ask_future_base::ask_future_base(runtime& home, request& pending, duration timeout) {
  const turn_context& here = this_turn();
  try {
    if (here.coroutine != nullptr && here.constructors == 0) {
      me_ = here.running;
      at_ = begin_waiting(*me_, *this, timeout);
      pending.from = answers_to(*me_, at_);
    } else {
      if (timeout != no_timeout) deadline_ = later(clock::now(), timeout);
      slot_ = &answer_slot::make(home);
      pending.from.slot = slot_;
      pending.from.place = asker::in_a_slot;
    }
  } catch (...) {
    pending.how->discard(pending);  // it has no requester
    throw;
  }
}

ask_future_base::ask_future_base(ask_future_base&& other) noexcept
    : waiter(other),
      me_(other.me_),
      slot_(std::exchange(other.slot_, nullptr)),
      at_(other.at_),
      deadline_(other.deadline_),
      to_(other.to_),
      circle_(std::move(other.circle_)),
      number_(other.number_),
      because_(other.because_),
      blocks_(other.blocks_),
      in_cycle_search_(std::exchange(other.in_cycle_search_, false)) {
  TROUPE_ASSERT(handler == nullptr, "an ask_future was moved while it is awaited");
  if (me_ != nullptr && now == state::waiting) table_of_mine().moved(at_, *this);
  other.now = state::over;
}

wait_table& ask_future_base::table_of_mine() const noexcept {
  TROUPE_ASSERT(this_turn().running == me_,
                "an ask_future of a handler may be used only in the turns of the same actor");
  return *me_->side_if_any()->waits;
}

bool ask_future_base::is_decided_here() {
  TROUPE_EXPECTS(now != state::over, "the result of an ask() was taken twice");
  if (slot_ != nullptr && now == state::waiting) move_to_turn();
  return now != state::waiting;
}

// The request was made where it could have been waited for with get(), and is awaited instead. A
// reply that has already arrived is delivered like any other.
void ask_future_base::move_to_turn() {
  control_block& me = *this_turn().running;
  at_ = begin_waiting(me, *this, deadline_);
  me_ = &me;
  const asker here = answers_to(me, at_);
  request* const answered = std::exchange(slot_, nullptr)->redirect(here);
  if (answered == nullptr) return;
  answered->from = here;
  bring_answer(*answered);
}

// False: there is no longer an actor in whose turn the reply could be delivered.
bool ask_future_base::is_decided_later() {
  TROUPE_EXPECTS(now != state::over, "the result of an ask() was taken twice");
  const turn_context& here = this_turn();
  if (here.running == nullptr || here.constructors != 0) {
    throw std::logic_error(
        "ask_future::then() outside of a handler: no actor could run the callback. Use get(), or "
        "move the call from the constructor to on_start()");
  }
  control_block& me = *here.running;
  if (me.line().now().ending() || me.is_between()) return false;
  if (now == state::waiting) {
    if (slot_ != nullptr) move_to_turn();
    return true;
  }
  // A reply is delivered again, as a message; a time-out expires at once.
  at_ = begin_waiting(me, *this, now == state::late ? clock::now() : time_point::max());
  me_ = &me;
  if (slot_ != nullptr) std::exchange(slot_, nullptr)->leave();
  now = state::waiting;
  if (answer == nullptr) return true;
  answer->from = answers_to(me, at_);
  bring_answer(*std::exchange(answer, nullptr));
  return true;
}

void ask_future_base::shorten(time_point deadline) {
  if (now != state::waiting) return;
  deadline_ = std::min(deadline_, deadline);
  if (me_ == nullptr) return;
  wait_table& table = table_of_mine();
  if (table.shorten(at_, deadline)) look_by(*me_, table, table.next_due());
}

// The request is awaited by something that keeps its actor from handling messages, or by a handler
// that replies to a request with a number.
void ask_future_base::others_may_see_it(const handler_frame& who) {
  if (in_cycle_search_ || to_ == address{}) return;  // no actor replies
  request_cycles& all = me_->home().request_cycles();
  if (number_ == 0) number_ = request_cycles::next_number();  // it was made elsewhere
  because_ = cause_of(&who);
  blocks_ = who.takes_nothing;
  in_cycle_search_ = true;
  const request_cycles::question mine{number_, me_->where(), to_, because_, blocks_};
  all.begin(mine);
  if (blocks_ || because_ != 0) pauses::begin_blocking(mine);
}

bool ask_future_base::wait_here(time_point until) {
  TROUPE_EXPECTS(now != state::over, "the result of an ask() was taken twice");
  if (now != state::waiting) return true;
  if (slot_ == nullptr) {
    refuse_to_wait(me_->name(), "that is a coroutine would block its thread: use co_await");
  }
  const time_point end = std::min(until, deadline_);
  answer = slot_->look();
  if (answer == nullptr) wait_for_answer(end);
  if (answer != nullptr) {
    now = state::answered;
  } else if (deadline_ <= end) {
    now = state::late;
  } else {
    return false;
  }
  return true;
}

void ask_future_base::wait_for_answer(time_point end) {
  const turn_context& here = this_turn();
  if (here.must_not_wait) {
    throw std::logic_error(
        "get() in a hook or on the timer thread would block the system: ask in a handler or on "
        "another thread");
  }
  if (here.running == nullptr) {
    wait_as_thread(end);
  } else {
    wait_in_turn(*here.running, end);
  }
}

void ask_future_base::wait_as_thread(time_point end) {
  runtime& home = slot_->home();
  home.check_threads("no reply can arrive");
  bound_executor* const pump = this_turn().pumps != 0 ? home.pump_of_this_thread() : nullptr;
  if (pump != nullptr) {
    struct not_any_more {
      answer_slot& slot;
      ~not_any_more() { slot.wakes(nullptr); }
    } guard{*slot_};
    slot_->wakes(pump);
    (void)pump->run_until([&] { return (answer = slot_->look()) != nullptr; },
                          end == time_point::max() ? nullptr : &end);
  } else {
    sleep_until_answer(end);
  }
  if (answer == nullptr && to_ != address{})
    circle_ = home.request_cycles().find({number_, {}, to_, 0, false});
}

// Throws if the asked actor cannot be scheduled while `me` waits. From here on `me` counts as
// blocking.
static void begin_to_wait(control_block& me, control_block& asked) {
  executor& here = me.runs_on();
  executor& there = asked.runs_on();
  if (&there == asked.home().pump_of_this_thread() ||
      (&there == &here && me.home().is_pump(here))) {
    refuse_to_wait(me.name(), "would wait for an actor of the same pump: use then()");
  }
  if (&there == &here && here.is_serial()) {
    refuse_to_wait(me.name(),
                   "would wait for an actor of the same group, which cannot be scheduled "
                   "meanwhile: use co_await or then()");
  }
  // In this order: if the last turns of two pools wait for each other, at least one of them
  // notices.
  const bool others_run = here.will_block();
  const bool is_same = &there.whose_threads() == &here.whose_threads();
  if (!others_run && (is_same || !there.will_block())) {
    here.has_blocked();
    refuse_to_wait(
        me.name(),
        "would wait for an actor of a pool, but every thread that could run it waits or blocks, "
        "and max_threads is reached: use co_await or then(), or raise max_threads");
  }
}

void ask_future_base::wait_in_turn(control_block& me, time_point end) {
  if (to_ == me.where()) refuse_to_wait(me.name(), "would wait for itself: use co_await or then()");
  struct blocking_here {
    executor& of;
    ~blocking_here() { of.has_blocked(); }
  };
  if (control_block* const asked = control_block::hold(to_)) {
    struct let_go {
      control_block& held;
      ~let_go() { held.let_go(); }
    } guard{*asked};
    begin_to_wait(me, *asked);
  } else {
    (void)me.runs_on().will_block();
  }
  const blocking_here guard{me.runs_on()};
  if (end == time_point::max()) {
    refuse_to_wait(me.name(),
                   "without a time-out could wait forever: pass a time-out to ask(), or use "
                   "co_await or then()");
  }
  if (to_ == address{} && me.home().driven() != nullptr) {
    refuse_to_wait(me.name(),
                   "in a simulation would wait forever for something that is not an actor: use "
                   "co_await or then()");
  }
  if (to_ == address{}) return sleep_until_answer(end);  // no actor replies
  request_cycles& all = me.home().request_cycles();
  if (number_ == 0) number_ = request_cycles::next_number();
  const request_cycles::question mine{number_, me.where(), to_, 0, true};
  all.begin(mine);
  pauses::begin_blocking(mine);
  sleep_until_answer(end);
  if (answer == nullptr) circle_ = all.find(mine);
  all.end(mine);
}

void ask_future_base::sleep_until_answer(time_point end) noexcept {
  while ((answer = slot_->look()) == nullptr) {
    if (end != time_point::max() && clock::now() >= end) return;
    slot_->sleep(end);
  }
}

request* ask_future_base::take(ask_error& error, std::unique_ptr<std::string>& cycle) noexcept {
  TROUPE_EXPECTS(now != state::over, "the result of an ask() was taken twice");
  request* found = std::exchange(answer, nullptr);
  if (now == state::ended) {
    (void)table_of_mine().take(at_);
    error = ask_error::stopped;
  } else if (now == state::late) {
    error = ask_error::timeout;
    cycle = std::move(circle_);
    if (cycle == nullptr && me_ != nullptr && to_ != address{}) {
      const handler_frame* const by = this_turn().coroutine;
      cycle = me_->home().request_cycles().find(
          {number_, me_->where(), to_, cause_of(by), by != nullptr && by->takes_nothing});
    }
  } else if (found->holds != request::content::reply) {
    error = found->error;
    found->how->discard(*found);
    found = nullptr;
  }
  leave();
  return found;
}

// Nothing waits for the reply any more.
void ask_future_base::leave() noexcept {
  if (in_cycle_search_)
    me_->home().request_cycles().end({number_, me_->where(), to_, because_, blocks_});
  in_cycle_search_ = false;
  if (slot_ != nullptr) std::exchange(slot_, nullptr)->leave();
  if (me_ != nullptr && now == state::waiting) (void)table_of_mine().take(at_);
  if (answer != nullptr) answer->how->discard(*std::exchange(answer, nullptr));
  now = state::over;
}

// ── Waiting for a time-out ────────────────────────────────────────────────────────────────────

void timed_waiter::begin(handler_frame& who, time_point until) {
  control_block& me = *this_turn().running;
  if (until != time_point::max()) {
    at_ = begin_waiting(me, *this, until);
    me_ = &me;
  } else {
    who.waits_for_messages = true;
  }
  handler = &who;
  now = state::waiting;
}

void timed_waiter::end() noexcept {
  if (me_ != nullptr && now == state::waiting) (void)me_->side_if_any()->waits->take(at_);
  me_ = nullptr;
}

void timed_waiter::goes_on(const dispatch& because) {
  end();
  handler_frame& who = *handler;
  who.waits_for_messages = false;
  who.how = &because;
  who.trace = this_turn().trace;  // from here on it is this message that is handled
  resume_handler(who);
}

}  // namespace detail
}  // namespace troupe
