// SPDX-License-Identifier: Apache-2.0
#include <troupe/supervision/dynamic_supervisor.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include <troupe/actor/control_block.hpp>

#include "child_texts.hpp"

namespace troupe::detail {

void check_class(const child_spec& spec, const actor_type& expected) {
  if (spec.type().identity == expected.identity) return;
  throw std::invalid_argument("start_child: the specification \"" + spec.name() +
                              "\" is for the class " + std::string(spec.type().name) + ", not " +
                              std::string(expected.name) + ": use start_child<…> with its class");
}

dynamic_children::dynamic_children(const supervision& rules, const dispatch& notes)
    : notes_(notes),
      nobody_(std::make_shared<const siblings>(std::vector<siblings::entry>{})),
      pace_(rules) {}

dynamic_children::~dynamic_children() {
  for (auto& [id, each] : children_) {
    try {
      each.record->end_for_good(*each.block, each.ended_as);
    } catch (...) {
      // No memory to stop it: the shutdown of the system reports it.
    }
    each.block->let_go();
  }
  if (stays_ != nullptr) stays_->let_go();
}

void dynamic_children::stay() noexcept {
  stays_ = this_turn().running;
  stays_->hold();
}

// ── Starting children ─────────────────────────────────────────────────────────────────────────

control_block& dynamic_children::start(const child_spec& spec) {
  const std::uint64_t id = next_id_++;
  entry fresh{child_state{.spec = spec}};
  fresh.id = id;
  fresh.record =
      std::make_shared<child_record>(id, self(), spec.when(), spec.is_to_forget_mailbox());
  make_slot(system(), fresh, nobody_);
  entry* child;
  try {
    watch(fresh.who);
    ids_.emplace(fresh.who, id);
    child = &children_.emplace(id, std::move(fresh)).first->second;
  } catch (...) {
    (void)detail::end_for_good(*fresh.block, exit_reason::stopped);
    fresh.block->let_go();
    throw;
  }
  if (ending_) {
    child->now = state::stopping;
    child->record->end_for_good(*child->block, exit_reason::stopped);
  } else {
    begin(*child);
  }
  return *child->block;
}

void dynamic_children::begin(entry& child) {
  child.now = state::starting;
  child.began = clock::now();
  due_at(child, later(child.began, child.spec.start_most()));
  // If it was told to stop meanwhile, its `down` is on its way.
  (void)child.record->begin(*child.block, notes_);
}

std::vector<child_status> dynamic_children::list() const {
  std::vector<child_status> all;
  all.reserve(children_.size());
  for (const auto& [id, each] : children_) all.push_back(status_of(each));
  return all;
}

// ── Events of children ────────────────────────────────────────────────────────────────────────

void dynamic_children::noted(child_note note) {
  const auto at = children_.find(note.child);
  if (at == children_.end() || at->second.who != note.who) return;
  entry& child = at->second;
  if (note.what == child_note::kind::started) {
    if (child.now != state::starting) return;
    child.now = state::running;
    return not_due(child);
  }
  child.ended_as = note.reason;
  if (!note.text.empty()) child.what = note.text;
  if (!ending_) return failed(child, note);
  // It terminated before the request to stop reached it.
  child.record->end_for_good(*child.block, child.ended_as);
}

void dynamic_children::failed(entry& child, const child_note& note) {
  const time_point now = clock::now();
  child.now = state::between;
  if (!pace_.may_restart(now)) return end_all(too_many_failures(child, note, pace_.rules()));
  ++child.restarts;
  child.not_before = later(now, pace_.delay(child, now));
  if (child.not_before <= now) {
    begin(child);
  } else {
    due_at(child, child.not_before);
  }
}

void dynamic_children::has_ended(const down& end) {
  const auto id = ids_.find(end.who);
  if (id == ids_.end()) return;
  const auto at = children_.find(id->second);
  not_due(at->second);
  at->second.block->let_go();
  children_.erase(at);
  ids_.erase(id);
  end_if_empty();
}

// ── Shutdown ──────────────────────────────────────────────────────────────────────────────────

void dynamic_children::told_to_end() { end_all({}); }

void dynamic_children::end_all(std::string why) {
  if (std::exchange(ending_, true)) return;
  failure_ = std::move(why);
  const time_point now = clock::now();
  for (auto& [id, each] : children_) {
    each.now = state::stopping;
    due_at(each, later(now, each.spec.stop_most()));
    each.record->end_for_good(*each.block, each.ended_as);
  }
  end_if_empty();
}

void dynamic_children::end_if_empty() {
  if (!ending_ || !children_.empty()) return;
  if (stays_ != nullptr) std::exchange(stays_, nullptr)->let_go();
  if (!failure_.empty()) throw std::runtime_error(failure_);
  (void)this_turn().running->end_after_this_message();
}

// ── Deadlines ─────────────────────────────────────────────────────────────────────────────────

void dynamic_children::due_at(entry& child, time_point when) {
  not_due(child);
  if (when == time_point::max()) return;
  child.at = due_.emplace(when, child.id);
  child.is_due = true;
}

void dynamic_children::not_due(entry& child) noexcept {
  if (std::exchange(child.is_due, false)) due_.erase(child.at);
}

time_point dynamic_children::look_after() {
  const time_point now = clock::now();
  while (!due_.empty() && due_.begin()->first <= now) {
    entry& child = children_.at(due_.begin()->second);
    not_due(child);
    look_at(child, now);
  }
  return due_.empty() ? time_point::max() : due_.begin()->first;
}

void dynamic_children::look_at(entry& child, time_point now) {
  switch (child.now) {
    case state::between:
      return begin(child);
    case state::starting:
      return end_all(has_not_started(child));
    case state::stopping:
      break;
    case state::running:
    case state::gone:
      return;
  }
  if (!std::exchange(child.told_now, true)) {
    child.block->stop_now();
    return due_at(child, later(now, child.spec.stop_most()));
  }
  // It terminates when its handler returns; until then the shutdown of the system reports it.
  if (failure_.empty()) failure_ = has_not_stopped(child);
  child.block->let_go();
  ids_.erase(child.who);
  children_.erase(child.id);
  end_if_empty();
}

}  // namespace troupe::detail
