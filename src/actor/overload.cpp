// SPDX-License-Identifier: Apache-2.0
// Messages that their receiver's limits do not simply admit.
#include <algorithm>
#include <bit>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/actor/budget.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/trace.hpp>
#include <troupe/detail/actor/control_block.hpp>

#include "drop_ring.hpp"
#include "kept_message.hpp"
#include "observed_messages.hpp"
#include "overdraft.hpp"
#include "overload.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "waiting_send.hpp"

namespace troupe {

struct budget_access {
  static const std::shared_ptr<detail::shared_budget>& shared(const budget& of) {
    return of.shared_;
  }
};

budget::budget(std::size_t bytes) : shared_(std::make_shared<detail::shared_budget>(bytes)) {}
std::size_t budget::limit() const noexcept { return shared_->limit(); }
std::size_t budget::used() const noexcept { return shared_->used(); }

namespace detail {

bool shared_budget::charge(std::size_t bytes) noexcept {
  // [budget] relaxed: publishes no other data.
  std::size_t used = used_.load(relaxed);
  do {
    if (bytes > limit_ || used > limit_ - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, relaxed, relaxed));
  return true;
}

overload_rules::overload_rules() = default;
overload_rules::~overload_rules() = default;

// ── Rules ─────────────────────────────────────────────────────────────────────────────────────

namespace {

// With backpressure a mailbox can count this many times its limit: the messages that a sender sends
// before it is suspended exceed the limit. Messages beyond that are in the mailbox uncounted; see
// overdraft.hpp.
constexpr std::uint32_t headroom = 4;

// The smallest message, with its header, in the pool's size classes.
constexpr std::size_t smallest_message = 32;

std::size_t floor_log2(std::size_t n) { return static_cast<std::size_t>(std::bit_width(n)) - 1; }

void check(std::size_t limit, const char* name, std::size_t most) {
  if (limit == no_limit || (limit > 0 && limit <= most)) return;
  throw std::invalid_argument(std::string("troupe: ") + name + " is " + std::to_string(limit) +
                              "; it must be between 1 and " + std::to_string(most) +
                              ", or troupe::no_limit");
}

void run_token(void* actor, envelope& token) {
  control_block& me = *this_turn().running;
  envelope* const message = drop_ring::of(token).take(token);
  if (message == nullptr) {  // dropped meanwhile, and counted
    this_turn().counts->handled.add(static_cast<std::uint64_t>(-1));
    return;
  }
  overload(me).taken_from_ring(*message);
  me.now_handling(*message->how);
  const unwrapped_scope scope(false);  // as if it had been in the mailbox
  message->how->run(actor, *message);
}

// Never discarded: the message that it stands for is taken out of the ring.
constexpr dispatch token_dispatch{.run = run_token,
                                  .discard = nullptr,
                                  .message = "the oldest message that is left",
                                  .internal = true};
constexpr dispatch high_token_dispatch{.run = run_token,
                                       .discard = nullptr,
                                       .message = "the oldest high message that is left",
                                       .internal = true,
                                       .high = true};

}  // namespace

sending_rules make_rules(std::size_t messages, std::size_t bytes, overflow::policy policy) {
  const std::uint32_t most = policy == overflow::policy::backpressure
                                 ? mailbox_limits::units_max / headroom
                                 : mailbox_limits::units_max;
  check(messages, "max_messages", most);
  check(bytes, "max_bytes", no_limit);
  sending_rules rules;
  if (messages == no_limit && bytes == no_limit) return rules;
  rules.per_message = 1;
  std::size_t units = std::min<std::size_t>(messages, most);
  if (bytes != no_limit) {
    units = std::clamp<std::size_t>(bytes / smallest_message, 1, units);
    rules.shift = static_cast<std::uint8_t>(floor_log2(std::max<std::size_t>(bytes / units, 1)));
  }
  rules.soft = static_cast<std::uint32_t>(units);
  rules.low = rules.soft / 2;
  rules.quantum = std::max(1u, rules.soft / 8);
  return rules;
}

std::unique_ptr<const overload_rules> make_rules(const spawn_options& options,
                                                 const actor_type& type, std::size_t messages,
                                                 std::size_t bytes, bool looked_at) {
  const overflow::policy chosen = options.on_full.what();
  const overflow::policy policy = chosen == overflow::policy::of_class ? type.on_full : chosen;
  if (policy == overflow::policy::backpressure && !options.max_messages && !options.max_bytes &&
      !options.memory_budget) {
    return nullptr;
  }
  auto own = std::make_unique<overload_rules>();
  messages = options.max_messages.value_or(messages);
  bytes = options.max_bytes.value_or(bytes);
  static_cast<sending_rules&>(*own) = make_rules(messages, bytes, policy);
  own->policy = policy;
  if (options.memory_budget) own->budget = budget_access::shared(*options.memory_budget);
  if (policy == overflow::policy::drop_oldest) {
    if (messages == no_limit) {
      throw std::invalid_argument(
          "troupe: overflow::drop_oldest needs max_messages, because its slots are allocated at "
          "spawn: set a finite spawn_options::max_messages");
    }
    own->ring = std::make_unique<drop_ring>(messages, bytes, token_dispatch, high_token_dispatch);
  }
  if (policy == overflow::policy::redirect) {
    own->target = options.on_full.target();
    if (own->target->from->identity != type.identity) {
      throw std::invalid_argument(
          "troupe: overflow::redirect_to<" + std::string(own->target->from->name) +
          "> was used to spawn an actor of the class " + std::string(type.name));
    }
  }
  own->routes = options.on_full.routes();
  own->plain =
      own->budget == nullptr && own->ring == nullptr && own->routes == nullptr && !looked_at;
  own->type = type;
  own->type.rules = own.get();
  return own;
}

// ── Counting ──────────────────────────────────────────────────────────────────────────────────

void control_block::tell_overload(overload_event::kind what, const dispatch& how) noexcept {
  try {
    side().overloads.add(what);
  } catch (...) {
    // No memory for a side block: it is counted in total, but not for this actor.
  }
  if (epoch_ == home().epoch()) home().overloaded({what, where(), name(), how.message});
}

void control_block::tell_sent(const dispatch& how, std::uint64_t trace) noexcept {
  const observer::message_event told{where(), name(), how.message, home_->traces ? trace : 0};
  home().observe([&](observer& to) { to.sent(told); });
}

bool control_block::could_take(std::size_t bytes) const noexcept {
  if (rules().units(bytes, 1) <= rules().soft) return true;
  return has_backpressure() && bytes <= home().overdrafts().limit();
}

void control_block::count_without_message(overload_event::kind what) noexcept {
  constexpr dispatch none{};
  tell_overload(what, none);
}

// Reports why a message was refused that would otherwise have been accepted, whatever its mailbox
// holds. By now there may be room again; it is reported anyway.
void overload::tell_exhausted(const envelope& message) const noexcept {
  using kind = overload_event::kind;
  const dispatch& how = *message.how;
  const sending_rules& bounds = to_.rules();
  runtime& home = to_.home();
  if (to_.home_->over_budget.load(relaxed)) {  // [budget] relaxed: only a hint
    home.exhausted({kind::budget_exhausted, to_.where(), to_.name(), how.message});
  } else if (!home.overdrafts().has_room_for(how.charge(message)) &&
             bounds.units(how.charge(message), how.weight) + to_.load() > bounds.soft) {
    home.exhausted({kind::overdraft_exhausted, to_.where(), to_.name(), how.message});
  }
}

// ── Limits for one type ───────────────────────────────────────────────────────────────────────

bool overload::take_place(const dispatch& how) const noexcept {
  atomic<std::uint16_t>& waiting = to_.side_if_any()->of_type[how.limit];
  // [place] relaxed: a counter that publishes no other data.
  std::uint16_t now = waiting.load(relaxed);
  do {
    if (now >= how.most) return false;
  } while (!waiting.compare_exchange_weak(now, static_cast<std::uint16_t>(now + 1), relaxed));
  return true;
}

// The message had a place and keeps it, whatever the limit is.
void overload::keep_place(const dispatch& how) const noexcept {
  to_.side_if_any()->of_type[how.limit].fetch_add(1, relaxed);  // [place]
}

void overload::give_place_back(const dispatch& how) const noexcept {
  to_.side_if_any()->of_type[how.limit].fetch_sub(1, relaxed);  // [place]
}

// ── Sending ───────────────────────────────────────────────────────────────────────────────────

delivery control_block::send_slowly(envelope& message, std::size_t bytes) noexcept {
  if (home().is_forked()) [[unlikely]] {
    const no_answer_scope as(ask_error::stopped);
    message.how->discard(message);
    return delivery::refused;
  }
  envelope& told = marked(message, *home_);
  if (simulation_driver* const by = home().driver(); by != nullptr && told.how->weight != 0) {
    control_block* const from = this_turn().running;
    switch (by->fate_of(from, *this)) {
      case fate::arrives:
        break;
      case fate::is_late:
        hold();
        by->keeps(home().timers().as_periodic_task(), from, *this, told);
        return delivery::accepted;
      case fate::finds_it_full:
        if (!has_backpressure()) return overload(*this).refuse_or_drop(told, true);
        return overload(*this).send(told, bytes, true, true);
    }
  }
  return overload(*this).send(told, bytes, true);
}

void control_block::arrive(envelope& message) noexcept {
  const trace_scope own(trace_of(message));  // in which it was sent
  (void)overload(*this).send(message, message.how->charge(message), true);
}

// `may_redirect`: it has not been redirected yet. `is_full`: treat the mailbox as full.
delivery overload::send(envelope& message, std::size_t bytes, bool may_redirect,
                        bool is_full) const noexcept {
  const dispatch& how = *message.how;
  const overload_rules* const own = to_.own_rules();
  if (own != nullptr && own->routes != nullptr) {
    envelope& bare = unmarked(message);  // the recipient's send marks it
    control_block* const chosen = own->routes->choose(bare);
    return chosen != nullptr ? chosen->send(bare) : to_.refuse_by_router(bare);
  }
  // [budget] relaxed: only a hint.
  if (to_.home_->over_budget.load(relaxed) && to_.rules().per_message != 0 && !to_.is_closed()) {
    return refuse_or_drop(message, may_redirect);
  }
  if (how.most != 0 && !take_place(how)) return refuse_or_drop(message, may_redirect);
  if (own != nullptr && own->budget != nullptr && !own->budget->charge(bytes)) {
    if (how.most != 0) give_place_back(how);
    return refuse_or_drop(message, may_redirect);
  }
  to_.hold();  // for longer than the message, which may have the last reference
  system_state& home = *to_.home_;
  bool pauses = false;
  bool itself_dropped = false;
  mailbox::pushed pushed;
  if (own != nullptr && own->ring != nullptr) {
    const drop_ring::outcome outcome = own->ring->push(message, to_.inbox());
    pushed = outcome.pushed;
    if (pushed != mailbox::pushed::closed) control_block::count_accepted(home, bytes);
    itself_dropped = outcome.dropped == &message;
    for (envelope* each = outcome.dropped; each != nullptr;) {
      drop(*std::exchange(each, each->next), overload_event::kind::dropped);
    }
  } else {
    const sending_rules& bounds = to_.rules();
    pushed = is_full ? mailbox::pushed::full
                     : to_.inbox().push(message, bounds.units(bytes, how.weight), bounds.soft);
    if (pushed == mailbox::pushed::full && to_.has_backpressure()) {
      if (this_thread_may_wait()) {
        if (how.most != 0) give_place_back(how);
        if (own != nullptr && own->budget != nullptr) own->budget->release(bytes);
        const delivery became = wait_in_line(message);
        to_.let_go();
        return became;
      }
      pushed = push_beyond_limit(message, bytes, false);
      pauses = pushed < mailbox::pushed::closed;
    }
    if (pushed < mailbox::pushed::closed) control_block::count_accepted(home, bytes);
  }
  delivery result = delivery::accepted;
  if (pushed < mailbox::pushed::closed) {
    if (how.high && pushed == mailbox::pushed::to_busy) to_.tell_high();
    if (pushed == mailbox::pushed::to_idle) to_.executor_->schedule(to_);
    if (home.looked_at) [[unlikely]]
      to_.tell_sent(how, this_turn().trace);
    if (pauses) result = slow_down(how);
    if (itself_dropped) result = delivery::dropped;
  } else {
    if (how.most != 0) give_place_back(how);
    if (own != nullptr && own->budget != nullptr) own->budget->release(bytes);
    result = pushed == mailbox::pushed::full ? refuse_or_drop(message, may_redirect)
                                             : to_.refuse(message);
  }
  to_.let_go();
  return result;
}

bool control_block::is_closed_behind() const noexcept {
  const overload_rules* const own = own_rules();
  return own != nullptr && own->routes != nullptr ? !own->routes->any_is_left() : is_closed();
}

std::uint32_t control_block::load_behind() const noexcept {
  const overload_rules* const own = own_rules();
  return own != nullptr && own->routes != nullptr ? own->routes->least_load() : load();
}

control_block* control_block::routed(const envelope& message) noexcept {
  control_block* to = this;
  while (to != nullptr) {
    const overload_rules* const own = to->own_rules();
    if (own == nullptr || own->routes == nullptr) break;
    to = own->routes->choose(message);
  }
  return to;
}

// The requester's ask is refused, whatever this thread is doing: possibly terminating another
// actor.
static void discard_for_room(envelope& message) noexcept {
  const no_answer_scope as(ask_error::refused);
  message.how->discard(message);
}

// The message is not in the mailbox; it is destroyed or goes elsewhere.
delivery overload::refuse_or_drop(envelope& message, bool may_redirect) const noexcept {
  using kind = overload_event::kind;
  const overload_rules* const own = to_.own_rules();
  const auto policy = own != nullptr ? own->policy : overflow::policy::backpressure;
  switch (policy) {
    case overflow::policy::drop_newest:
    case overflow::policy::drop_oldest:  // a budget, or the limit of a type
      to_.tell_overload(kind::dropped, *message.how);
      discard_for_room(message);
      return delivery::dropped;
    case overflow::policy::redirect:
      if (may_redirect) return redirect(*own->target, message);
      break;
    case overflow::policy::fail_receiver:
      fail_receiver();
      break;
    case overflow::policy::backpressure:
      tell_exhausted(message);
      break;
    case overflow::policy::refuse:
    case overflow::policy::route:
    case overflow::policy::of_class:  // no actor has that
      break;
  }
  to_.tell_overload(kind::refused, *message.how);
  discard_for_room(message);
  return delivery::refused;
}

// The message in the form for the target; null if it could not be made, and is refused.
envelope* overload::redirected(const redirection& where, envelope& sent) const noexcept {
  envelope& message = unmarked(sent);
  envelope* onwards = &message;
  if (where.table != nullptr) {
    const auto* const end = where.table + where.table_size;
    const auto* const entry = std::find_if(where.table, end, [&](const redirected_message& m) {
      return m.from != nullptr && is_same_message(*m.from, *message.how);
    });
    TROUPE_ASSERT(entry != end,
                  "a message whose type is not in the list of its actor's message types");
    if (entry->to == nullptr) {  // a request for which the target's reply has another type
      to_.tell_overload(overload_event::kind::refused, *message.how);
      discard_for_room(message);
      return nullptr;
    }
    try {
      if (entry->remake != nullptr) {
        onwards = entry->remake(message, *entry->to);
      } else {
        message.how = entry->to;
      }
    } catch (...) {  // no memory, or the message cannot be moved
      to_.tell_overload(overload_event::kind::refused, *message.how);
      discard_for_room(message);
      return nullptr;
    }
  }
  to_.tell_overload(overload_event::kind::redirected, *onwards->how);
  return &marked(*onwards, *where.to->home_);
}

delivery overload::redirect(const redirection& where, envelope& message) const noexcept {
  envelope* const onwards = redirected(where, message);
  if (onwards == nullptr) return delivery::refused;
  return overload(*where.to).send(*onwards, onwards->how->charge(*onwards), false);
}

// The message has been accepted beyond the limit.
delivery overload::slow_down(const dispatch& how) const noexcept {
  turn_context& here = this_turn();
  control_block* const full = &to_;
  if (here.running == full) return delivery::accepted;  // to itself
  if (here.running == nullptr || here.constructors != 0) return delivery::paused;
  // The actor is suspended after its handler, for each full mailbox that the handler has sent to.
  if (here.waits_for == nullptr) {
    to_.hold();
    here.waits_for = full;
    here.after |= after::pause;
    here.sent_to_full = &how;
  } else if (here.waits_for != full) {
    try {
      (void)to_.side();
      if (here.also == nullptr) here.also = new std::vector<control_block*>;
      const auto at = std::lower_bound(here.also->begin(), here.also->end(), full, std::less<>{});
      if (at == here.also->end() || *at != full) {
        here.also->insert(at, full);
        to_.hold();
      }
    } catch (...) {
      // No memory: it waits for the others.
    }
  }
  return delivery::paused;
}

// True for a thread outside any turn. Threads that run a loop or the timers, that call a user's
// hook or that construct an actor must not wait: they have other work to do, or would wait for
// themselves.
bool overload::this_thread_may_wait() noexcept {
  const turn_context& here = this_turn();
  return here.running == nullptr && here.constructors == 0 && !here.must_not_wait &&
         here.pumps == 0;
}

delivery overload::wait_in_line(envelope& message) const noexcept {
  parker here;
  message_in_line mine(to_, message, &here);
  to_.tell_overload(overload_event::kind::paused, *message.how);
  taken how = taken::full;
  try {
    (void)to_.side();
    how = to_.home().pauses().line_up(mine, nullptr);
  } catch (...) {  // no memory for a side block: it does not wait
    how = take_in_beyond_limit(message, mine.bytes, false);
  }
  if (how == taken::full) {
    here.park();
    return mine.became;
  }
  if (how != taken::by_idle && how != taken::by_busy) return not_taken(how, message);
  if (how == taken::by_idle) to_.executor_->schedule(to_);
  to_.tell_taken(*mine.kind, mine.trace);
  return delivery::accepted;
}

// The caller holds the actor. Returns full if there is no memory, or the overdraft is exhausted.
mailbox::pushed overload::push_beyond_limit(envelope& message, std::size_t bytes,
                                            bool is_locked) const noexcept {
  overdraft& of = to_.home().overdrafts();
  if (!of.charge(bytes)) return mailbox::pushed::full;
  uncounted_message* outer = nullptr;
  mailbox::pushed pushed{};
  try {
    (void)to_.side();
    pushed = to_.inbox().push(message, to_.rules().units(bytes, message.how->weight));
    if (pushed == mailbox::pushed::full) outer = &make_uncounted(message, bytes);
  } catch (...) {
    pushed = mailbox::pushed::full;
  }
  if (outer != nullptr) {
    to_.home().pauses().begin_uncounted(to_, is_locked);
    pushed = to_.inbox().push(*outer);
    if (pushed < mailbox::pushed::closed) return pushed;
    to_.home().pauses().end_uncounted(to_, is_locked);
    free_envelope(*outer);
  }
  if (pushed < mailbox::pushed::closed) {
    to_.home().pauses().overdrawn(to_, bytes, is_locked);
  } else {
    of.release(bytes);
  }
  return pushed;
}

void overload::fail_receiver() const noexcept {
  if (to_.raise(control_block::urgent::fail)) to_.wake();
}

// ── Handling ──────────────────────────────────────────────────────────────────────────────────

bool is_ring_token(const envelope& message) noexcept {
  return message.how == &token_dispatch || message.how == &high_token_dispatch;
}

void overload::taken_from_ring(const envelope& message) const noexcept {
  const std::size_t bytes = message.how->charge(message);
  no_longer_waits(*message.how, bytes);
  control_block::count_gone(*to_.home_, 0, bytes);
}

void overload::no_longer_waits(const dispatch& how, std::size_t bytes) const noexcept {
  if (how.most != 0) give_place_back(how);
  if (const overload_rules* const own = to_.own_rules(); own != nullptr && own->budget != nullptr) {
    own->budget->release(bytes);
  }
}

// The message was accepted, and will not be handled.
void overload::drop(envelope& message, overload_event::kind why) const noexcept {
  const dispatch& how = *message.how;
  const std::size_t bytes = how.charge(message);
  no_longer_waits(how, bytes);
  control_block::count_gone(*to_.home_, 1, bytes);
  to_.tell_overload(why, how);
  discard_for_room(message);
}

}  // namespace detail
}  // namespace troupe
