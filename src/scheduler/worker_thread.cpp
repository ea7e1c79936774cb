// SPDX-License-Identifier: Apache-2.0
#include "worker_thread.hpp"

#include <string>

#include <troupe/base/clock.hpp>
#include <troupe/detail/scheduler/tuning.hpp>
#include <troupe/detail/scheduler/worker_pool.hpp>

#include "worker.hpp"

namespace troupe::detail {

worker_thread::worker_thread(worker_pool& pool, unsigned number, std::int64_t settles_at,
                             timeline* draws)
    : pool_(pool), number_(number), activity_(settles_at, pool.turn_messages_) {
  if (draws != nullptr) lane_ = draws->open(name(), activity_);
  activity_.lane = lane_.get();
}

std::string worker_thread::name() const { return pool_.thread_name(std::to_string(number_)); }

void worker_thread::start() {
  thread_ = start_thread(name(), [this] { run(); });
}

void worker_thread::join() {
  if (thread_.joinable()) thread_.join();
}

void worker_thread::run() {
  here() = this;
  pool_.traits_.apply_here();
  probe_.begin_here();
  for (worker* mine = wait_for_worker(); mine != nullptr;) {
    pool_.pin_here(*mine);
    if (!mine->run(*this)) break;
    mine = pool_.rests(*this) ? wait_for_worker() : its_worker();
  }
  begins(timeline_slice::kind::nothing);
  here() = nullptr;  // destructors of thread_locals run as on a foreign thread
}

// Returns null if the pool stops, or if the thread has rested for long enough and retires.
worker* worker_thread::wait_for_worker() noexcept {
  begins(timeline_slice::kind::resting);
  if (!parker_.park_until(clock::now() + tuning::rest_for)) {
    if (pool_.try_retire(*this)) return nullptr;
    parker_.park();  // another thread has just taken it off the resting list
  }
  const holding has = has_.load(relaxed);  // [has] relaxed: the parker orders it
  return has == none ? nullptr : held(has);
}

void worker_thread::give(worker& w) noexcept {
  w.is_run_by(*this);
  has_.store(holds(w), relaxed);  // [has]
  parker_.notify();
}

// [has] relaxed: under the mutex there is no mark, and any other change only sets it to none.
worker* worker_thread::its_worker() const noexcept {
  const holding has = has_.load(relaxed);
  return has == none ? nullptr : held(has);
}

// [take-away] seq_cst, or equivalent together with the barrier. Acquire as well: [turn] uses of the
// worker before or within the turn happen before its later uses.
bool worker_thread::try_take_away(worker& w) noexcept {
  holding has = holds(w);
  if (!has_.compare_exchange_strong(has, has | mark, seq_cst, relaxed)) return false;
  const bool in_turn = heavy_barrier() && in_turn_.load(seq_cst);
  has = holds(w) | mark;
  // [take-back] relaxed: the next thread receives the worker through a parker. Failure: the owner
  // has taken it back.
  return has_.compare_exchange_strong(has, in_turn ? none : holds(w), relaxed, relaxed) && in_turn;
}

// Called after the turn. Removes the mark, unless the worker is gone already, or was taken away and
// given back.
worker* worker_thread::keep_worker() noexcept {
  // [give-back] acquire, here and on failure: work that was moved out of the worker meanwhile.
  holding has = has_.load(acquire);
  while (has != none && is_marked(has)) {
    // [take-back] relaxed: this thread was the last one to use the worker. [unchecked: failure] A
    // failure needs a monitor that takes and gives back between the two lines.
    if (has_.compare_exchange_weak(has, has & ~mark, relaxed, acquire)) has &= ~mark;
  }
  return has == none ? nullptr : held(has);
}

}  // namespace troupe::detail
