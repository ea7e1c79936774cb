// SPDX-License-Identifier: Apache-2.0
// A handler that waits for another actor's termination: a watch whose `down` goes to the handler
// instead of on(down).
#include <troupe/actor/end_of.hpp>

#include <stdexcept>
#include <utility>

#include <troupe/actor/told_of_ends.hpp>
#include <troupe/base/assert.hpp>

#include "side_block.hpp"
#include "wait_table.hpp"
#include "watching.hpp"

namespace troupe::detail {

namespace {

control_block& whose_handler_runs() {
  const turn_context& here = this_turn();
  if (here.coroutine != nullptr && here.constructors == 0) return *here.running;
  throw std::logic_error(
      "end_of() was called outside of a coroutine handler: use watch() and on(troupe::down), or "
      "join() on a thread that runs no actor");
}

}  // namespace

end_waiter::end_waiter(const address& other, control_block* held, time_point until)
    : me_(whose_handler_runs()), until_(until) {
  if (held != nullptr) {
    watch_ = watch_it(me_, other, held, this);
    return;
  }
  control_block* const target = control_block::hold_to_the_end(other);
  struct let_go_after {
    control_block* target;
    ~let_go_after() {
      if (target != nullptr) target->let_go();
    }
  } guard{target};
  watch_ = watch_it(me_, other, target, this);
}

end_waiter::~end_waiter() {
  end_time();
  (void)unwatch(me_, watch_);
}

bool end_waiter::is_decided() const {
  TROUPE_EXPECTS(!taken_, "the result of end_of() was awaited twice");
  if (got_.has_value()) return true;
  return is_over() && !is_on_its_way(watch_);
}

bool end_waiter::is_over() const { return until_ != time_point::max() && until_ <= clock::now(); }

void end_waiter::wait(handler_frame& who) {
  // If the actor has already terminated, its `down` arrives after the messages that it had sent
  // before. No time-out may come first.
  const bool comes_late = is_over() && is_on_its_way(watch_);
  if (until_ != time_point::max() && !comes_late) at_ = begin_waiting(me_, *this, until_);
  handler = &who;
}

void end_waiter::ended(down&& what) {
  got_.emplace(std::move(what));
  end_time();
  if (handler != nullptr) resume_handler(*handler);
}

std::optional<down> end_waiter::take() noexcept {
  taken_ = true;
  handler = nullptr;
  (void)unwatch(me_, watch_);  // if its time-out has expired
  return std::move(got_);
}

void end_waiter::end_time() noexcept {
  if (now == state::waiting && at_.turn != 0) (void)me_.side_if_any()->waits->take(at_);
  now = state::over;
}

}  // namespace troupe::detail
