// SPDX-License-Identifier: Apache-2.0
#include <troupe/supervision/supervisor.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>

#include <troupe/actor/control_block.hpp>

#include "child_texts.hpp"

namespace troupe {

namespace {

using detail::child_note;
using detail::child_state;

}  // namespace

// ── Construction ──────────────────────────────────────────────────────────────────────────────

supervisor::supervisor(const supervision& rules, const std::vector<child_spec>& children)
    : pace_(rules) {
  std::unordered_set<std::string> names;
  for (const child_spec& each : children) {
    if (!names.insert(each.name()).second) {
      throw std::invalid_argument("troupe::supervisor: two children have the name \"" +
                                  each.name() + "\"");
    }
    children_.push_back({.spec = each});
  }
}

// Children are left here only if on_start() has thrown, or after stop_now().
supervisor::~supervisor() {
  for (auto each = children_.rbegin(); each != children_.rend(); ++each) {
    if (each->block == nullptr) continue;
    try {
      if (each->now != state::gone) each->record->end_for_good(*each->block, each->ended_as);
    } catch (...) {
      // No memory to stop it: the shutdown of the system reports it.
    }
    each->block->let_go();
  }
}

// All children have an address before the first one starts, so each may refer to the others.
void supervisor::on_start() {
  stays_ = self(this);
  std::vector<siblings::entry> family;
  auto others = std::make_shared<siblings>(std::vector<siblings::entry>{});
  for (std::size_t i = 0; i < children_.size(); ++i) {
    child_state& each = children_[i];
    each.record = std::make_shared<detail::child_record>(i, self(), each.spec.when(),
                                                         each.spec.is_to_forget_mailbox());
    detail::make_slot(system(), each, others);
    family.push_back({each.spec.name(), &each.spec.type(), each.who});
    watch(each.who);
  }
  *others = siblings(std::move(family));
  step();
}

// ── Requests ──────────────────────────────────────────────────────────────────────────────────

detail::control_block* supervisor::find(std::string_view name, const detail::actor_type& type) {
  for (const child_state& each : children_) {
    if (each.spec.name() != name || each.spec.type().identity != type.identity) continue;
    if (each.block == nullptr) return nullptr;
    each.block->hold();
    return each.block;
  }
  return nullptr;
}

std::vector<child_status> supervisor::on(list_children) {
  std::vector<child_status> all;
  for (const child_state& each : children_) {
    all.push_back(detail::status_of(each));
  }
  return all;
}

// ── Events of children ────────────────────────────────────────────────────────────────────────

void supervisor::on(child_note note) {
  if (note.child >= children_.size()) return;
  child_state& child = children_[note.child];
  if (child.who != note.who || child.now == state::gone) return;
  if (note.what == child_note::kind::started) {
    if (child.now != state::starting) return;
    child.now = state::running;
    child.deadline = time_point::max();
    child.ordered = false;
  } else {
    child.ended_as = note.reason;
    const bool was_asked_for = std::exchange(child.restarts_with_others, false);
    if (was_asked_for && !child.told) ++child.restarts;  // it has terminated by itself meanwhile
    child.now = state::between;
    child.told = false;
    child.deadline = time_point::max();
    if (!note.text.empty()) child.what = note.text;
    if (!was_asked_for && !ending_) failed(child, note);
  }
  step();
}

void supervisor::failed(child_state& child, const child_note& note) {
  const time_point now = clock::now();
  if (!pace_.may_restart(now)) {
    return escalate(detail::too_many_failures(child, note, pace_.rules()));
  }
  ++child.restarts;
  child.not_before = later(now, pace_.delay(child, now));
  using strategy = restart_strategy;
  if (pace_.rules().strategy == strategy::one_for_one) return;
  const bool all = pace_.rules().strategy == strategy::one_for_all;
  const auto at = children_.begin() + std::distance(children_.data(), &child);
  for (auto each = all ? children_.begin() : at; each != children_.end(); ++each) {
    each->ordered = true;
    each->not_before = std::max(each->not_before, child.not_before);
    if (each->now == state::starting || each->now == state::running) {
      each->restarts_with_others = true;
    }
  }
}

void supervisor::on(const down& end) {
  for (child_state& each : children_) {
    if (each.who != end.who || each.now == state::gone) continue;
    each.now = state::gone;
    each.deadline = time_point::max();
    each.restarts_with_others = false;
    if (!end.what.empty()) each.what = end.what;
    std::exchange(each.block, nullptr)->let_go();
  }
  step();
}

void supervisor::escalate(std::string why) {
  if (!failure_.empty()) return;
  failure_ = std::move(why);
  ending_ = true;
}

void supervisor::on_told(detail::told_to_stop) {
  ending_ = true;
  step();
}

void supervisor::on(detail::look_after_children) {
  next_call_ = time_point::max();
  look_at_deadlines(clock::now());
  step();
}

// ── Next step ─────────────────────────────────────────────────────────────────────────────────

void supervisor::step() {
  // Both functions use the same time: a child that is not started because it is not due yet is
  // covered by the next call.
  const time_point now = clock::now();
  if (!ending_) {
    if (stop_for_restart()) start_those_due(now);
  } else if (stop_all()) {
    stays_ = {};
    if (!failure_.empty()) throw std::runtime_error(failure_);
    (void)detail::this_turn().running->end_after_this_message();
    return;
  }
  see_to_next_call(now);
}

// Stops all children in reverse order, one at a time. Returns true if all have terminated.
bool supervisor::stop_all() {
  for (auto each = children_.rbegin(); each != children_.rend(); ++each) {
    if (each->now == state::gone) continue;
    const bool was_to_come_back = std::exchange(each->restarts_with_others, false);
    if (each->now != state::stopping || was_to_come_back) {
      each->now = state::stopping;
      each->deadline = later(clock::now(), each->spec.stop_most());
      each->told_now = false;
      each->record->end_for_good(*each->block, each->ended_as);
    }
    return false;
  }
  return true;
}

// Stops the children that are to be restarted, in reverse order, one at a time. Returns true if all
// of them are between two incarnations.
bool supervisor::stop_for_restart() {
  for (auto each = children_.rbegin(); each != children_.rend(); ++each) {
    if (!each->restarts_with_others) continue;
    if (!std::exchange(each->told, true)) {
      each->now = state::stopping;
      each->deadline = later(clock::now(), each->spec.stop_most());
      ++each->restarts;
      each->record->end_object(*each->block);
    }
    return false;
  }
  return true;
}

void supervisor::start_those_due(time_point now) {
  bool one_is_starting = false;
  for (child_state& each : children_) {
    if (each.now == state::between && !(each.ordered && one_is_starting)) {
      if (each.not_before <= now) begin(each);
    }
    if (each.ordered && (each.now == state::between || each.now == state::starting)) {
      one_is_starting = true;
    }
  }
}

void supervisor::begin(child_state& child) {
  child.now = state::starting;
  child.began = clock::now();
  child.deadline = later(child.began, child.spec.start_most());
  // If it was told to stop meanwhile, its `down` is on its way.
  (void)child.record->begin(*child.block,
                            detail::promised_dispatch_of<supervisor, detail::child_note>);
}

void supervisor::look_at_deadlines(time_point now) {
  for (child_state& each : children_) {
    if (each.deadline > now) continue;
    each.deadline = time_point::max();
    if (each.now == state::starting) {
      escalate(detail::has_not_started(each));
    } else if (!ending_) {
      escalate(detail::has_not_stopped(each));
    } else if (!std::exchange(each.told_now, true)) {
      each.block->stop_now();
      each.deadline = later(now, each.spec.stop_most());
    } else {
      // It terminates when its handler returns; until then the shutdown of the system reports it.
      if (failure_.empty()) failure_ = detail::has_not_stopped(each);
      each.now = state::gone;
      std::exchange(each.block, nullptr)->let_go();
    }
  }
}

void supervisor::see_to_next_call(time_point now) {
  time_point next = time_point::max();
  for (const child_state& each : children_) {
    next = std::min(next, each.deadline);
    // A child that is due already waits for others, and their notes cause the next step.
    const bool is_to_start = each.now == state::between && !ending_ && each.not_before > now;
    if (is_to_start) next = std::min(next, each.not_before);
  }
  if (next >= next_call_) return;
  next_call_ = next;
  (void)its_timer_.cancel();
  its_timer_ =
      self(this).send_after(std::max(next - now, duration::zero()), detail::look_after_children{});
}

}  // namespace troupe
