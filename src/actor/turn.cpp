// SPDX-License-Identifier: Apache-2.0
// The work of an actor in a turn.
#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/scheduler/timeline.hpp>
#include <troupe/detail/scheduler/tuning.hpp>

#include "handler_frame.hpp"
#include "overload.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"

namespace troupe::detail {

namespace {

// Never in a mailbox: handling() returns these while they run.
constexpr dispatch on_start_dispatch{nullptr, nullptr, "on_start", false, true};
constexpr dispatch paused_dispatch{nullptr, nullptr, "suspended until a full mailbox has room",
                                   false, true};

// Records whose turn it is. No other turn is active before it: other_turns_scope ensures that.
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
      waits_for_nobody();  // it has terminated instead
  }

  [[nodiscard]] turn_context& here() const noexcept { return here_; }

 private:
  [[gnu::noinline]] void waits_for_nobody() noexcept {
    std::exchange(here_.waits_for, nullptr)->let_go();
    const std::unique_ptr<std::vector<control_block*>> also(std::exchange(here_.also, nullptr));
    if (also == nullptr) return;
    for (control_block* each : *also) each->let_go();
  }

  turn_context& here_;
};

}  // namespace

// ── Called by the spawner ─────────────────────────────────────────────────────────────────────

void control_block::started() noexcept {
  handling_.store(nullptr, relaxed);  // [handling]
  if (home_->looked_at && type_->on_start == nullptr && !type_->is_hidden) [[unlikely]]
    tell_started();
  if (type_->on_start == nullptr && inbox().rest()) return;
  executor_->schedule(*this);
}

void control_block::abandon(exit_reason as) noexcept {
  const other_turns_scope others;
  const turn_scope scope(*this, nullptr);
  line().begin_end();
  release_what_it_owns();
  finish(as, nullptr, false);
}

// ── Called in the turn ────────────────────────────────────────────────────────────────────────

turn_result control_block::turn_by_executor(runnable& r, activity& mine) noexcept {
  return static_cast<control_block&>(r).executor_->give_turn(r, turn, mine);
}

turn_result control_block::turn_of(runnable& r, activity& mine, std::size_t most) noexcept {
  return static_cast<control_block&>(r).run_turn(mine, std::min(most, mine.turn_messages), true);
}

inline bool control_block::refill(std::uint32_t low, activity& mine) noexcept {
  const std::uint32_t before = inbox().has_one_ready() ? 1 : 0;
  const mailbox::refilled got = inbox().refill(low);
  if (got.room) [[unlikely]]
    home().pauses().release_waiters_of(*this);
  const std::uint32_t found = before + got.messages;
  if (found == 0) return false;
  mine.depth_highest.raise_to(found);
  return true;
}

void control_block::collect(runnable& r, activity& mine) noexcept {
  auto& block = static_cast<control_block&>(r);
  // [high] relaxed: only a hint.
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

// Stashed messages stay counted in the mailbox. handling() names the exclusive handler, if there is
// one.
inline bool control_block::rests(bool is_exclusive, std::uint32_t low) noexcept {
  const side_block* const its = side_if_any();
  handling_.store(is_exclusive ? its->exclusive->how : nullptr, relaxed);  // [handling]
  return inbox().rest(its != nullptr ? its->kept_units : 0, low);
}

void control_block::thaw() noexcept {
  if (!rests(has_exclusive(), rules().low)) executor_->schedule(*this);
}

void control_block::give_back_to_budget(std::size_t bytes) noexcept {
  if (const overload_rules* const own = own_rules(); own != nullptr && own->budget != nullptr) {
    own->budget->release(bytes);
  }
}

void control_block::give_back_to_overdraft(std::size_t bytes) noexcept {
  const side_block* const its = side_if_any();
  // [overdrawn] relaxed: see side_block. Bytes that are charged meanwhile are for the next call.
  if (its != nullptr && its->overdrawn.load(relaxed) != 0) [[unlikely]]
    pauses::no_longer_overdrawn(*this, bytes);
}

inline void control_block::count(const turn_tally& of, const sending_rules& bounds,
                                 activity& mine) noexcept {
  if (!bounds.plain) [[unlikely]]
    give_back_to_budget(of.bytes);
  give_back_to_overdraft(of.bytes);
  const bool is_to_settle = mine.count_gone(of.handled, of.bytes);
  if (is_to_settle || home_->settles_each_turn) [[unlikely]]
    settle(*home_, mine);
}

turn_result control_block::turn(runnable& r, activity& mine) noexcept {
  auto& me = static_cast<control_block&>(r);
  const turn_scope scope(me, &mine);
  mine.turns.add(1);
  std::size_t most = mine.turn_messages;
  if (const sending_rules& bounds = me.rules(); me.has_one_message(bounds)) [[likely]] {
    if (const auto over = me.handle_one(bounds, mine, scope.here(), most)) [[likely]]
      return *over;
  }
  return me.go_on(mine, most, true);
}

// Most turns handle one message, with nothing else to check. This does for these what go_on() does,
// without its loop, so everything that is needed after the handler stays in registers.
inline bool control_block::has_one_message(const sending_rules& bounds) noexcept {
  // [phase], [urgent] relaxed: as in go_on().
  return (phase_.load(relaxed) & ~waited_for) == static_cast<std::uint32_t>(phase::running) &&
         urgent_.load(relaxed) == 0 && inbox().has_one_ready() && inbox().is_quiet() &&
         bounds.plain;
}

// An empty result: the turn continues, with `most`.
inline std::optional<turn_result> control_block::handle_one(const sending_rules& bounds,
                                                            activity& mine, turn_context& here,
                                                            std::size_t& most) noexcept {
  mine.depth_highest.raise_to(1);
  envelope& message = inbox().pop_ready();
  const dispatch& how = *message.how;
  const std::size_t charge = how.charge(message);
  if (how.most != 0) [[unlikely]]
    overload(*this).give_place_back(how);
  now_handling(how);
  try {
    how.run(object(), message);
  } catch (...) {
    return fail_in(how, charge, {most - 1, 1, charge}, mine);
  }
  // [turn-over] relaxed: it is seen soon enough.
  if (here.after != after::nothing || mine.asked.load(relaxed) != activity::nothing) [[unlikely]] {
    turn_tally so_far{most - 1, 1, charge};
    if (const auto over = see_to(here.after, how, charge, so_far, mine)) return over;
    // Before it is counted: see is_asked_to_end().
    if (is_asked_to_end(mine, so_far.handled)) so_far.most = 0;
    count(so_far, bounds, mine);
    most = so_far.most;
    return {};
  }
  if (inbox().handled(bounds.units(charge, how.weight), bounds.quantum)) [[unlikely]] {
    if (inbox().make_room(bounds.low)) home().pauses().release_waiters_of(*this);
  }
  --most;
  if (mine.count_gone(1, charge) || home_->settles_each_turn) [[unlikely]]
    settle(*home_, mine);
  // [urgent] relaxed: as in go_on(). If it is seen too late here, rests() sees it.
  if (urgent_.load(relaxed) != 0 || line().now().count() == 0) [[unlikely]]
    return {};
  if (!rests(false, bounds.low)) [[unlikely]]
    return {};
  return turn_result::resting;
}

// `may_refill`: messages that have arrived since the reader's list was made are handled too.
turn_result control_block::run_turn(activity& mine, std::size_t most, bool may_refill) noexcept {
  const turn_scope scope(*this, &mine);
  mine.turns.add(1);
  return go_on(mine, most, may_refill);
}

// Call within a turn_scope.
turn_result control_block::go_on(activity& mine, std::size_t most, bool may_refill) noexcept {
  turn_context& here = this_turn();
  bool is_exclusive = false;
  bool is_special = false;  // it is exclusive, or begins with examined messages
  // [phase] relaxed: this part of the word is accessed only by the turn.
  if (const std::uint32_t now = phase_.load(relaxed) & ~waited_for;
      now != static_cast<std::uint32_t>(phase::running)) [[unlikely]] {
    if ((now & between) != 0) {
      if (const auto otherwise = next_incarnation(mine)) return *otherwise;
    }
    if (in_life() == phase::starting) {
      move_to(phase::running);
      if (!call(type_->on_start, on_start_dispatch)) return end(exit_reason::failed, mine);
      // [turn-over] relaxed: as below.
      if (mine.asked.load(relaxed) != activity::nothing) {
        if (is_asked_to_end(mine, 0) && may_refill) most = 0;
      }
      has_started();
      here.after = after::nothing;
      if (pauses_now(here)) return turn_result::resting;
    }
    is_exclusive = has_exclusive();
    is_special = is_exclusive || has_examined();
  }
  const sending_rules& bounds = rules();
  // The message that found the actor idle is not handled alone if others have arrived after it.
  // Sorted messages are older than those and come first. [urgent] relaxed: as below.
  if (may_refill && inbox().has_one_ready() && urgent_.load(relaxed) == 0) {
    (void)refill(bounds.low, mine);
  }
  void* const actor = object();
  std::size_t handled = 0;
  std::size_t bytes = 0;
  // Inlined at each call, so that the two counts stay in registers.
  const auto count_so_far = [&]() __attribute__((always_inline)) {
    count({most, handled, bytes}, bounds, mine);
    handled = bytes = 0;
  };
  for (;;) {
    // [urgent] relaxed: see stop_now(). It is checked before each message, so it overtakes all of
    // them.
    if (urgent_.load(relaxed) != 0) [[unlikely]] {
      const urgent what = look_at_urgent(most, may_refill, mine);
      if (what == urgent::look_again) continue;
      if (what != urgent::nothing) {
        count_so_far();
        return end_for(what, mine);
      }
    }
    if (inbox().has_ready()) {
      if (most == 0) break;
    } else {
      if ((most == 0 || !may_refill) && !inbox().is_empty()) break;
      if (refill(bounds.low, mine)) {
        if (most == 0) [[unlikely]]
          break;
      } else {
        count_so_far();
        // Nothing can send to it any more, and no message is waiting: it terminates here.
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
    envelope& message = inbox().pop_ready();
    const dispatch& how = *message.how;
    const std::size_t charge = how.charge(message);
    --most;
    if (is_special) [[unlikely]] {
      const std::size_t units = bounds.units(charge, how.weight);
      if (!is_exclusive) {
        took_examined(message, units);
        is_special = has_examined();
      } else if (!how.at_once) {
        put_aside(message);
        side_if_any()->kept_units += static_cast<std::uint32_t>(units);
        continue;
      }
    }
    ++handled;
    bytes += charge;
    if (how.most != 0) [[unlikely]]
      overload(*this).give_place_back(how);
    now_handling(how);
    try {
      how.run(actor, message);
    } catch (...) {
      return fail_in(how, charge, {most, handled, bytes}, mine);
    }
    if (const std::uint8_t also = here.after; also != after::nothing) [[unlikely]] {
      turn_tally so_far{most, handled, bytes};
      if (const auto over = see_to(also, how, charge, so_far, mine)) return *over;
      most = so_far.most;
      handled = so_far.handled;
      bytes = so_far.bytes;
      is_exclusive = has_exclusive();
      is_special = is_exclusive || has_examined();
    } else if (inbox().handled(bounds.units(charge, how.weight), bounds.quantum)) [[unlikely]] {
      // The system's account of bytes must not lag behind the mailbox by more than this, or the
      // memory budget would refuse messages although their predecessors have been freed.
      count_so_far();
      if (inbox().make_room(bounds.low)) home().pauses().release_waiters_of(*this);
    }
    // [turn-over] relaxed: it is seen soon enough.
    if (mine.asked.load(relaxed) != activity::nothing) [[unlikely]] {
      if (is_asked_to_end(mine, handled) && may_refill) most = 0;
    }
  }
  handling_.store(nullptr, relaxed);  // [handling]
  count_so_far();
  return turn_result::again;
}

// Called after a message whose handler may have left work to do. A result: the turn is over, and
// everything is counted.
[[gnu::noinline]] std::optional<turn_result> control_block::see_to(std::uint8_t also,
                                                                   const dispatch& how,
                                                                   std::size_t charge,
                                                                   turn_tally& so_far,
                                                                   activity& mine) noexcept {
  const sending_rules& bounds = rules();
  turn_context& here = this_turn();
  bool is_quantum_over = false;
  if ((also & after::keep) != 0) {
    --so_far.handled;
    so_far.bytes -= charge;
    side_if_any()->kept_units += static_cast<std::uint32_t>(bounds.units(charge, how.weight));
    if (how.most != 0) overload(*this).keep_place(how);
  } else if (inbox().handled(bounds.units(charge, how.weight), bounds.quantum)) {
    is_quantum_over = true;
    if (inbox().make_room(bounds.low)) home().pauses().release_waiters_of(*this);
  }
  if ((also & after::exclusive) != 0 && !go_on_with_held_up()) {
    count(so_far, bounds, mine);
    return end(exit_reason::failed, mine);
  }
  if ((also & after::uncounted) != 0) --so_far.handled;
  if ((also & after::batch) != 0) so_far.most -= std::min(so_far.most, here.handled_too);
  here.after = after::nothing;
  if (here.waits_for == nullptr && !is_quantum_over) return {};
  count(so_far, bounds, mine);  // as in go_on()
  so_far.handled = so_far.bytes = 0;
  if (here.waits_for == nullptr) return {};
  if (pauses_now(here)) return turn_result::resting;
  return {};
}

// Call within a catch block.
[[gnu::noinline]] turn_result control_block::fail_in(const dispatch& how, std::size_t charge,
                                                     const turn_tally& so_far,
                                                     activity& mine) noexcept {
  const sending_rules& bounds = rules();
  report_failure(handling()->message);
  count(so_far, bounds, mine);
  // The mailbox may outlive this incarnation; the message no longer counts in it.
  (void)inbox().handled(bounds.units(charge, how.weight), bounds.quantum);
  return end(exit_reason::failed, mine);
}

// Called after a message; `handled`: the number of messages not counted yet.
bool control_block::is_asked_to_end(activity& mine, std::size_t handled) noexcept {
  const std::uint8_t what = mine.asked.exchange(activity::nothing, relaxed);  // [turn-over]
  if ((what & (activity::tick | activity::label)) != 0 && mine.lane != nullptr) {
    timeline_label label{.actor = type_->name};
    if (const dispatch* const how = handling()) label.message = how->message;
    if (const side_block* const its = side_if_any()) {
      // The terminating zero stays.
      its->name.copy(label.name.data(), label.name.size() - 1);
    }
    if ((what & activity::tick) != 0) {
      mine.lane->ticked(label, handled);
    } else {
      mine.lane->learns(label, handled);
    }
  }
  return (what & activity::turn_over) != 0;
}

// Called after a handler that has sent to full mailboxes. True: another thread will schedule the
// actor's next turn, and may already be doing so.
bool control_block::pauses_now(turn_context& here) noexcept {
  control_block* const receiver = std::exchange(here.waits_for, nullptr);
  if (receiver == nullptr) return false;
  std::vector<control_block*> others;
  if (here.also != nullptr) {
    others = std::move(*here.also);
    delete std::exchange(here.also, nullptr);
  }
  receiver->tell_overload(overload_event::kind::paused, *here.sent_to_full);
  now_handling(paused_dispatch);
  if (pauses::pause(*this, *receiver, std::move(others))) return true;
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
      report_failure("overload", "its mailbox was full (overflow::fail_receiver)");
      return end(exit_reason::failed, mine);
    case urgent::unreachable:
      return end(exit_reason::unreachable, mine);
    default:
      return end(exit_reason::stopped_now, mine);
  }
}

// Called after an exclusive handler. False if a resumed handler threw; that has been reported.
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

// Call within a catch block.
void control_block::report_failure(std::string_view during) noexcept {
  try {
    throw;
  } catch (const std::exception& e) {
    report_failure(during, e.what());
  } catch (...) {
    report_failure(during, "an exception that is not a std::exception");
  }
}

void control_block::report_failure(std::string_view during, std::string_view what) noexcept {
  try {
    home().actor_failed({where(), name(), during, what, std::exchange(this_turn().trace, 0)});
    side().what = what;
  } catch (...) {
    // No memory to store the text: the failure itself has been reported.
  }
}

}  // namespace troupe::detail
