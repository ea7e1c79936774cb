// SPDX-License-Identifier: Apache-2.0
#include "bound_executor.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include <troupe/actor/conductor.hpp>
#include <troupe/actor/control_block.hpp>
#include <troupe/actor/pump.hpp>
#include <troupe/actor/system.hpp>

#include "runtime.hpp"

namespace troupe::detail {

bound_executor::bound_executor(runtime& home)
    : pump_executor(home.settles_at(), home.draws()), home_(home), thread_(this_thread_id()) {
  home_.add(*this);
  ++this_turn().pumps;
}

bound_executor::bound_executor(runtime& home, conducted_executor& by)
    : pump_executor(home.settles_at(), home.draws()),
      home_(home),
      by_(&by),
      thread_(this_thread_id()) {
  home_.add(*this);
}

bound_executor::~bound_executor() {
  if (is_pumped_by(this_thread_id())) --this_turn().pumps;
  home_.remove(*this);
}

bound_executor& bound_executor::of(pump& p) noexcept { return *p.executor_; }

void bound_executor::check_caller() const {
  home().check_threads("a troupe::pump cannot run");
  if (this_thread_id() != thread_) {
    throw std::logic_error("a troupe::pump was run by a thread other than the one that created it");
  }
  if (this_turn().running != nullptr) {
    throw std::logic_error("a troupe::pump was run inside a handler of " +
                           std::string(this_turn().running->name()) +
                           ": return from the handler first");
  }
}

std::size_t bound_executor::drain() {
  check_caller();
  const other_turns_scope others;
  const std::uint64_t before = done().handled.value();
  runnable_list now = take();
  if (now.empty()) return 0;
  const pumping drawn(*this);
  // Collects the messages of all of them first, so that messages sent meanwhile wait for the next
  // round.
  for (runnable* r = now.first(); r != nullptr; r = r->next_runnable) {
    control_block::collect(*r, done());
  }
  while (runnable* const r = now.pop()) {
    if (control_block::turn_collected(*r, done()) == turn_result::again) schedule(*r);
  }
  return done().handled.value() - before;
}

std::size_t bound_executor::drain_at_most(std::size_t messages) {
  check_caller();
  const other_turns_scope others;
  const std::uint64_t before = done().handled.value();
  runnable_list now = take();
  if (now.empty()) return 0;
  const pumping drawn(*this);
  for (std::uint64_t left = messages; left != 0 && !now.empty();) {
    runnable* const r = now.pop();
    const std::uint64_t then = done().handled.value();
    if (control_block::turn_of(*r, done(), left) == turn_result::again) schedule(*r);
    left -= std::clamp<std::uint64_t>(done().handled.value() - then, 1, left);
  }
  put_back(now);
  return done().handled.value() - before;
}

std::size_t bound_executor::run_until_idle() {
  check_caller();
  std::size_t handled = 0;
  while (!empty()) handled += drain();
  return handled;
}

void bound_executor::run_until_stopped() {
  run_until([this] { return bound() == 0; }, nullptr);
}

std::size_t bound_executor::bound() const noexcept {
  const std::lock_guard lock(bound_mutex_);
  return bound_;
}

void bound_executor::actor_bound() noexcept {
  const std::lock_guard lock(bound_mutex_);
  ++bound_;
}

void bound_executor::schedule(runnable& r) noexcept {
  by_ != nullptr ? by_->schedule(r) : pump_executor::schedule(r);
}

void bound_executor::retire(runnable&) noexcept {
  // All of it under the lock: the pump takes the lock to see that no actor is bound any more, and
  // may then be destroyed.
  const std::lock_guard lock(bound_mutex_);
  --bound_;
  // From another thread if the constructor threw there: a join may be waiting on this pump.
  if (bound_ == 0 || !is_pumped_by(this_thread_id())) wake();
}

}  // namespace troupe::detail

namespace troupe {

pump::pump(system& of) : executor_(std::make_unique<detail::bound_executor>(*of.runtime_)) {}

pump::pump(detail::runtime& of, detail::conducted_executor& by)
    : executor_(std::make_unique<detail::bound_executor>(of, by)) {}

pump::~pump() {
  if (executor_->home().is_forked()) {
    (void)executor_.release();  // like the system, it stays as it was
    return;
  }
  if (executor_->bound() == 0) return;
  executor_->home().stop_bound_to(*executor_);
  executor_->run_until_stopped();
}

std::unique_ptr<pump> detail::conducted_pump(system& of) {
  runtime& home = system_access::of(of);
  if (home.conducted() == nullptr) return nullptr;
  return std::unique_ptr<pump>(new pump(home, *home.conducted()));
}

std::size_t pump::drain() { return executor_->drain(); }
std::size_t pump::drain_at_most(std::size_t messages) { return executor_->drain_at_most(messages); }
std::size_t pump::run_until_idle() { return executor_->run_until_idle(); }
void pump::run_until_stopped() { executor_->run_until_stopped(); }
void pump::on_wakeup(std::function<void()> callback) { executor_->on_wakeup(std::move(callback)); }

}  // namespace troupe
