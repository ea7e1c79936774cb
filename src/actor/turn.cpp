// SPDX-License-Identifier: Apache-2.0
// What an actor does in a turn.
#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/scheduler/timeline.hpp>
#include <troupe/scheduler/tuning.hpp>

#include "handler_frame.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"

namespace troupe::detail {

namespace {

// Never in a mailbox: what handling() says while these run.
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

}  // namespace

// ── The spawner's ─────────────────────────────────────────────────────────────────────────────

void control_block::started() noexcept {
  handling_.store(nullptr, relaxed);  // [handling]
  if (home_->looked_at && type_->on_start == nullptr && !type_->is_hidden) [[unlikely]]
    tell_started();
  if (type_->on_start == nullptr && inbox().rest()) return;
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

inline void control_block::count(const turn_tally& of, const sending_rules& bounds,
                                 activity& mine) noexcept {
  if (!bounds.plain) [[unlikely]]
    give_back_to_budget(of.bytes);
  const bool is_to_settle = mine.count_gone(of.handled, of.bytes);
  if (is_to_settle || home_->has_budget) [[unlikely]]
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

// Most turns are of one message, with nothing else to look at. What go_on() does for these, without its loop: so all that
// is needed behind the handler stays in registers.
inline bool control_block::has_one_message(const sending_rules& bounds) noexcept {
  // [phase], [urgent] relaxed: as in go_on().
  return (phase_.load(relaxed) & ~waited_for) == static_cast<std::uint32_t>(phase::running) &&
         urgent_.load(relaxed) == 0 && inbox().has_one_ready() && inbox().is_quiet() &&
         bounds.plain;
}

// Nothing: the turn goes on, with `most`.
inline std::optional<turn_result> control_block::handle_one(const sending_rules& bounds,
                                                            activity& mine, turn_context& here,
                                                            std::size_t& most) noexcept {
  mine.depth_highest.raise_to(1);
  envelope& message = inbox().pop_ready();
  const dispatch& how = *message.how;
  const std::size_t charge = how.charge(message);
  if (how.most != 0) [[unlikely]]
    give_place_back(how);
  now_handling(how);
  try {
    how.run(object(), message);
  } catch (...) {
    return fail_in(how, charge, {most - 1, 1, charge}, mine);
  }
  // [turn-over] relaxed: it comes soon enough.
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
  if (mine.count_gone(1, charge) || home_->has_budget) [[unlikely]]
    settle(*home_, mine);
  // [urgent] relaxed: as in go_on(). What is seen too late is seen by rests().
  if (urgent_.load(relaxed) != 0 || line().now().count() == 0) [[unlikely]]
    return {};
  if (!rests(false, bounds.low)) [[unlikely]]
    return {};
  return turn_result::resting;
}

// `may_refill`: what has come since the reader's list was made is handled too.
turn_result control_block::run_turn(activity& mine, std::size_t most, bool may_refill) noexcept {
  const turn_scope scope(*this, &mine);
  mine.turns.add(1);
  return go_on(mine, most, may_refill);
}

// Within the scope of a turn.
turn_result control_block::go_on(activity& mine, std::size_t most, bool may_refill) noexcept {
  turn_context& here = this_turn();
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
      // [turn-over] relaxed: as below.
      if (mine.asked.load(relaxed) != activity::nothing) {
        if (is_asked_to_end(mine, 0) && may_refill) most = 0;
      }
      has_started();
      here.after = after::nothing;
      if (pauses_now(here)) return turn_result::resting;
    }
    is_exclusive = has_exclusive();
  }
  const sending_rules& bounds = rules();
  // The message that found it idle is not to be handled alone if others have come behind it. What is sorted,
  // and older than those, comes first. [urgent] relaxed: as below.
  if (may_refill && inbox().has_one_ready() && urgent_.load(relaxed) == 0) {
    (void)refill(bounds.low, mine);
  }
  void* const actor = object();
  std::size_t handled = 0;
  std::size_t bytes = 0;
  // Inlined wherever it is called, so that the two counts stay in registers.
  const auto count_so_far = [&]() __attribute__((always_inline)) {
    count({most, handled, bytes}, bounds, mine);
    handled = bytes = 0;
  };
  for (;;) {
    // [urgent] relaxed: see stop_now(). It is looked at before each message, so it overtakes all.
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
    envelope& message = inbox().pop_ready();
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
      return fail_in(how, charge, {most, handled, bytes}, mine);
    }
    if (const std::uint8_t also = here.after; also != after::nothing) [[unlikely]] {
      turn_tally so_far{most, handled, bytes};
      if (const auto over = see_to(also, how, charge, so_far, mine)) return *over;
      most = so_far.most;
      handled = so_far.handled;
      bytes = so_far.bytes;
      is_exclusive = has_exclusive();
    } else if (inbox().handled(bounds.units(charge, how.weight), bounds.quantum)) [[unlikely]] {
      if (inbox().make_room(bounds.low)) home().pauses().release_waiters_of(*this);
    }
    // [turn-over] relaxed: it comes soon enough.
    if (mine.asked.load(relaxed) != activity::nothing) [[unlikely]] {
      if (is_asked_to_end(mine, handled) && may_refill) most = 0;
    }
  }
  handling_.store(nullptr, relaxed);  // [handling]
  count_so_far();
  return turn_result::again;
}

// Behind a message whose handler may have left something to be done. A result: the turn is over, and all is counted.
[[gnu::noinline]] std::optional<turn_result> control_block::see_to(std::uint8_t also,
                                                                   const dispatch& how,
                                                                   std::size_t charge,
                                                                   turn_tally& so_far,
                                                                   activity& mine) noexcept {
  const sending_rules& bounds = rules();
  turn_context& here = this_turn();
  if ((also & after::keep) != 0) {
    --so_far.handled;
    so_far.bytes -= charge;
    side_if_any()->kept_units += static_cast<std::uint32_t>(bounds.units(charge, how.weight));
    if (how.most != 0) keep_place(how);
  } else if (inbox().handled(bounds.units(charge, how.weight), bounds.quantum)) {
    if (inbox().make_room(bounds.low)) home().pauses().release_waiters_of(*this);
  }
  if ((also & after::exclusive) != 0 && !go_on_with_held_up()) {
    count(so_far, bounds, mine);
    return end(exit_reason::failed, mine);
  }
  if ((also & after::uncounted) != 0) --so_far.handled;
  if ((also & after::batch) != 0) so_far.most -= std::min(so_far.most, here.handled_too);
  here.after = after::nothing;
  if (here.waits_for == nullptr) return {};
  count(so_far, bounds, mine);
  so_far.handled = so_far.bytes = 0;
  if (pauses_now(here)) return turn_result::resting;
  return {};
}

// Within a catch block.
[[gnu::noinline]] turn_result control_block::fail_in(const dispatch& how, std::size_t charge,
                                                     const turn_tally& so_far,
                                                     activity& mine) noexcept {
  const sending_rules& bounds = rules();
  report_failure(handling()->message);
  count(so_far, bounds, mine);
  // It may have a next object, and does not wait for that.
  (void)inbox().handled(bounds.units(charge, how.weight), bounds.quantum);
  return end(exit_reason::failed, mine);
}

// Behind a message; `handled`: so many are not counted yet.
bool control_block::is_asked_to_end(activity& mine, std::size_t handled) noexcept {
  const std::uint8_t what = mine.asked.exchange(activity::nothing, relaxed);  // [turn-over]
  if ((what & (activity::tick | activity::label)) != 0 && mine.lane != nullptr) {
    timeline_label label{.actor = type_->name};
    if (const dispatch* const how = handling()) label.message = how->message;
    if (const side_block* const its = side_if_any()) {
      // The end stays zero.
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

// After a handler that has sent to a full mailbox. True: somebody else gives it its next turn, and may
// be doing so.
bool control_block::pauses_now(turn_context& here) noexcept {
  control_block* const receiver = std::exchange(here.waits_for, nullptr);
  if (receiver == nullptr) return false;
  // Who has much to do himself goes on, lest two that wait for each other stand still.
  if (inbox().units() > rules().low) {
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
    case urgent::unreachable:
      return end(exit_reason::unreachable, mine);
    default:
      return end(exit_reason::stopped_now, mine);
  }
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

}  // namespace troupe::detail
