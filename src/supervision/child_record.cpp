// SPDX-License-Identifier: Apache-2.0
#include <troupe/supervision/child_record.hpp>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include <troupe/actor/control_block.hpp>

namespace troupe {

detail::control_block* siblings::find(std::string_view name, const detail::actor_type& type) const {
  for (const entry& each : all_) {
    if (each.name != name) continue;
    if (each.type->identity != type.identity) {
      throw std::logic_error("the sibling \"" + std::string(name) + "\" is a " +
                             std::string(each.type->name) + ", not a " + std::string(type.name));
    }
    detail::control_block* const held = detail::control_block::hold_to_the_end(each.who);
    if (held != nullptr) return held;
    throw std::logic_error("the sibling \"" + std::string(name) +
                           "\" has terminated and is not restarted");
  }
  throw std::logic_error("the sibling \"" + std::string(name) + "\" does not exist");
}

namespace detail {

// ── Shared by both sides ──────────────────────────────────────────────────────────────────────

bool child_record::begin(control_block& child, const dispatch& how) {
  note_ptr started(make_envelope<false>(how, child_note{}));
  note_ptr ended(make_envelope<false>(how, child_note{}));
  {
    const std::lock_guard lock(guard_);
    started->value = {.child = id_, .who = child.where()};
    ended->value = {.child = id_, .who = child.where(), .what = child_note::kind::ended};
    started_ = std::move(started);
    ended_ = std::move(ended);
    at_end_ = at_end::by_policy;
    has_object_ = true;
  }
  return begin_incarnation(child);
}

// Under the mutex. comes_back() begins the end of the object. If it is called after this, the
// request made here applies to that object; if it was called before, there is nothing to do.
void child_record::end_object(control_block& child) {
  const std::lock_guard lock(guard_);
  if (!has_object_) return;
  at_end_ = at_end::comes_back;
  detail::end_object(child);
}

void child_record::end_for_good(control_block& child, exit_reason otherwise) {
  {
    const std::lock_guard lock(guard_);
    at_end_ = at_end::final;
  }
  if (!detail::end_for_good(child, otherwise)) child.stop();
}

void child_record::started() noexcept {
  note_ptr note;
  {
    const std::lock_guard lock(guard_);
    note = std::move(started_);
  }
  (void)tell(std::move(note));
}

bool child_record::comes_back(exit_reason why) noexcept {
  const std::lock_guard lock(guard_);
  has_object_ = false;
  switch (at_end_) {
    case at_end::comes_back:
      if (why != exit_reason::stopped) return true;
      break;  // it was stopped before that, and not by end_object()
    case at_end::final:
      return false;
    case at_end::by_policy:
      break;
  }
  return when_ == restart::always || (when_ == restart::on_failure && is_abnormal(why));
}

// A thread that sets `final` does so before it tries to end the child for good. The child reads the
// flag after it has allowed other threads to decide. So one of the two ends it.
void child_record::ended(control_block& child, exit_reason why, std::string_view what) noexcept {
  note_ptr note;
  bool is_over = false;
  {
    const std::lock_guard lock(guard_);
    note = std::move(ended_);
    is_over = at_end_ == at_end::final;
  }
  note->value.reason = why;
  try {
    note->value.text = what;
  } catch (...) {
    // No memory for the text: the note is sent without it.
  }
  if (is_over || !tell(std::move(note))) (void)detail::end_for_good(child, why);
}

// Sends the note to the supervisor. Returns false if the supervisor has terminated.
bool child_record::tell(note_ptr note) const noexcept {
  control_block* const to = control_block::hold_to_the_end(supervisor_);
  if (to == nullptr) return false;
  const bool taken = to->try_deliver(*note);
  if (taken) (void)note.release();
  to->let_go();
  return taken;
}

// ── The child's side ──────────────────────────────────────────────────────────────────────────

namespace {

class supervised final : public incarnations {
 public:
  supervised(std::shared_ptr<child_record> record, const child_spec& spec,
             std::shared_ptr<const siblings> others)
      : record_(std::move(record)), spec_(spec), others_(std::move(others)) {}

  void construct(void* place) override { spec_.make(place, *others_); }
  void started() noexcept override { record_->started(); }
  [[nodiscard]] bool comes_back(exit_reason why) noexcept override {
    return record_->comes_back(why);
  }
  void ended(exit_reason why, std::string_view what) noexcept override {
    const auto record = record_;  // `this` may be destroyed as soon as the decision is made
    record->ended(*this_turn().running, why, what);
  }
  [[nodiscard]] bool forgets_mailbox() const noexcept override { return record_->forgets(); }

 private:
  const std::shared_ptr<child_record> record_;
  const child_spec spec_;
  const std::shared_ptr<const siblings> others_;
};

}  // namespace

void make_slot(troupe::system& of, child_state& child,
               const std::shared_ptr<const siblings>& others) {
  auto makes = std::make_unique<supervised>(child.record, child.spec, others);
  control_block& block =
      make_between(of, child.spec.type(), child.spec.options(), std::move(makes));
  child.block = &block;
  child.who = block.where();
}

// ── Restart limits and delays ─────────────────────────────────────────────────────────────────

namespace {

void check(bool makes_sense, const char* what) {
  if (!makes_sense) throw std::invalid_argument(std::string("troupe::supervision: ") + what);
}

}  // namespace

restart_pace::restart_pace(const supervision& rules)
    : rules_(rules),
      random_(static_cast<std::minstd_rand::result_type>(clock::now().time_since_epoch().count())) {
  check(rules.min_backoff >= duration::zero(), "`min_backoff` is negative; 0 restarts at once");
  check(rules.max_backoff >= rules.min_backoff, "`max_backoff` is shorter than `min_backoff`");
  check(rules.jitter >= 0 && rules.jitter <= 1, "`jitter` is not between 0 and 1");
  check(rules.within > duration::zero(), "`within` is not positive");
}

bool restart_pace::may_restart(time_point now) {
  if (rules_.max_restarts == supervision::unlimited) return true;
  while (!recent_.empty() && now - recent_.front() > rules_.within) recent_.pop_front();
  if (recent_.size() >= rules_.max_restarts) return false;
  recent_.push_back(now);
  return true;
}

duration restart_pace::delay(child_state& of, time_point now) {
  const duration enough = std::max(rules_.max_backoff, rules_.within);
  if (of.began != time_point{} && now - of.began > enough) of.failed_in_a_row = 0;
  duration time = rules_.min_backoff;
  for (unsigned i = 0; i < of.failed_in_a_row && 0 < time.count() && time < rules_.max_backoff;
       ++i) {
    time = time > rules_.max_backoff / 2 ? rules_.max_backoff : 2 * time;
  }
  ++of.failed_in_a_row;
  const double part = 1 - rules_.jitter * std::uniform_real_distribution<double>(0, 1)(random_);
  return std::chrono::duration_cast<duration>(time * part);
}

}  // namespace detail
}  // namespace troupe
