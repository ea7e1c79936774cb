// SPDX-License-Identifier: Apache-2.0
#include "worker.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <troupe/sync/timer_slack.hpp>

namespace troupe::detail {

// One quiet look at a resting pool counts as this many looks at a working pool.
constexpr unsigned looks_at_rest = 3;

// Returns true if no other runnable waits for a turn of this worker: pushing work to the ring would
// only wake a thief.
inline bool worker::alone() const noexcept { return !has_waiting() && !pool_.has_injected(); }

inline bool worker::is_time_to_look() noexcept {
  if (--turns_until_look_ != 0) [[likely]]
    return false;
  turns_until_look_ = tuning::injected_interval;
  return true;
}

// Returns the next runnable, and waits if none is available. Null if the pool stops.
inline runnable* worker::next() noexcept {
  if (steps_back_ || is_time_to_look()) [[unlikely]] {
    if ((std::exchange(steps_back_, false) || are_too_many()) && pool_.try_step_back()) {
      hand_over();
      return find_work(true);
    }
    // If only some of the workers run, each of them also does the share of those that are parked.
    const bool all_run = pool_.limit_.now() == pool_.size();
    if (runnable* const r = all_run ? pool_.take_injected() : take_injected()) return r;
  }
  // Turns that use up their budget can be long, and the shared queue would wait for many of them.
  if (others_first_) [[unlikely]] {
    others_first_ = false;
    if (runnable* const r = take_injected()) return r;
  }
  if (runnable* const r = slot_.load(relaxed)) {  // [slot]
    slot_.store(nullptr, relaxed);
    if (++slot_streak_ <= tuning::slot_streak_max) [[likely]]
      return r;
    if (alone()) {
      // A runnable that arrives later waits for no more turns than one that was here before.
      slot_streak_ = 0;
      return r;
    }
    push_to_ring(*r);
  }
  slot_streak_ = 0;
  if (runnable* const r = ring_.pop()) return r;
  if (runnable* const r = take_injected()) return r;
  return find_work(pool_.try_search());
}

bool worker::run(worker_thread& by) {
  by.begins(timeline_slice::kind::running, index_ + 1);
  while (runnable* const r = next()) {
    for (;;) {
      by.begin_turn(*r);
      // [turn-function] relaxed: it is stored before any runnable that needs it is scheduled.
      const turn_result left = turn_.load(relaxed)(*r, by.mine());
      if (by.end_turn() == nullptr) {
        if (left == turn_result::again) pool_.inject(*r);
        return true;
      }
      if (left != turn_result::again) break;
      if (alone()) {
        steps_back_ = is_time_to_look() && are_too_many();
        if (!steps_back_) continue;
      }
      others_first_ = true;
      // It need not be stolen while it only waits for a short turn.
      if (!has_waiting() && pool_.injected_is_short_.load(relaxed)) {  // [short]
        push(*r);
      } else {
        push_to_ring(*r);
      }
      break;
    }
  }
  return false;
}

void worker::push_behind(runnable& r) noexcept {
  if (alone()) return push(r);
  push_to_ring(r);
  others_first_ = true;
}

// Only workers that make progress count: one in a long turn does nothing for the waiting work.
bool worker::are_too_many() noexcept {
  const unsigned running = pool_.running();
  pool_.limit_.look([this] { return pool_.steps_done(); }, running);
  if (running <= pool_.limit_.now()) {
    others_seen_ = false;
    return false;
  }
  const std::uint64_t turns = pool_.turns_begun() - turns_begun();
  const std::uint64_t before = std::exchange(others_turns_, turns);
  return std::exchange(others_seen_, true) && turns != before;
}

void worker::push_to_ring(runnable& r) noexcept {
  if (!ring_.push(&r)) {
    // A full ring is work for more than one worker: half of it moves to the shared queue.
    std::array<runnable*, tuning::ring_capacity / 2 + 1> overflow;
    std::size_t count = ring_.take_half(overflow.data(), overflow.size() - 1);
    overflow[count++] = &r;
    pool_.inject(overflow.data(), count);
  } else {
    pool_.wake_one_if_needed();
  }
}

// The rest of push(): `before` is the previous content of the slot, or null.
void worker::push_beside_sleepers(runnable* before) noexcept {
  if (before != nullptr) push_to_ring(*before);
  pool_.wake_sleepers();
}

// Takes one runnable to run and some for the ring, and locks the shared queue's mutex once.
runnable* worker::take_injected() noexcept {
  // Only this worker pushes to the ring, so `room` runnables fit, and one more is returned.
  const std::size_t room = tuning::ring_capacity - ring_.size();
  return pool_.take_injected(std::min(room + 1, tuning::ring_capacity / 2),
                             [this](runnable& more) noexcept { (void)ring_.push(&more); });
}

void worker::hand_over() noexcept {
  std::array<runnable*, tuning::ring_capacity + 1> mine;
  std::size_t count = 0;
  if (runnable* const r = slot_.load(relaxed)) mine[count++] = r;  // [slot]
  slot_.store(nullptr, relaxed);
  while (runnable* const r = ring_.pop()) mine[count++] = r;
  if (count != 0) pool_.inject(mine.data(), count);
}

// `searching`: the caller is counted as searching. Null if the pool stops.
runnable* worker::find_work(bool searching) noexcept {
  runnable* const r = wait_for_work(searching);
  begins(timeline_slice::kind::running);
  return r;
}

runnable* worker::wait_for_work(bool searching) noexcept {
  for (;;) {
    const bool keeps_out = searching && !may_take();
    // A worker that was woken to become the lookout need not search. It checks for new work before
    // it sleeps.
    const bool looks_first = looks_first_;
    looks_first_ = false;
    if (searching && !keeps_out && !looks_first) {
      begins(timeline_slice::kind::searching);
      if (runnable* const r = search()) {
        pool_.stop_searching();
        return r;
      }
    }
    if (runnable* const r = sleep(searching, keeps_out)) {
      pool_.stop_searching();
      return r;
    }
    // The thread that took this worker off the list counted it as searching.
    searching = true;
    // [stop] acquire: pairs with the release in ~worker_pool().
    if (pool_.stopping_.load(acquire)) {
      pool_.stop_searching();
      return nullptr;
    }
  }
}

// Returns true if this worker may take work. Otherwise the running workers will get to it.
bool worker::may_take() noexcept {
  const unsigned running = pool_.running();
  return running == 0 || running < pool_.limit_.now();
}

// Parks, unless there is work that no running worker will get to. Returns a runnable that it has
// found as the lookout, or null.
runnable* worker::sleep(bool searched, bool keeps_out) noexcept {
  begins(timeline_slice::kind::parked);
  const bool looks_out = pool_.register_parked(*this, searched, !keeps_out);
  if (pool_.needs_me(keeps_out)) {
    // If another thread has taken it off the list already, the token is on its way.
    if (!pool_.withdraw_parked(*this)) parker_.park();
    // Others may have parked meanwhile without becoming the lookout, because this worker was.
    if (looks_out) pool_.another_looks_out();
    return nullptr;
  }
  if (looks_out) return look_out();
  // [watch] After the step in the census: if a watcher is about to leave, either this worker sees
  // that it has left, or the watcher is the last searcher and checks for work once more. Acquire:
  // the previous watcher's notes are visible.
  if (!keeps_out || pool_.watched_.exchange(true, acquire)) {
    parker_.park();
    return nullptr;
  }
  watch();
  // [watch] release: pairs with the acquire of the next watcher. It happens before this worker's
  // next step in the census.
  pool_.watched_.store(false, release);
  return nullptr;
}

// Periodically checks whether a runnable waits in the slot of a worker whose turn runs long, and
// takes it. Returns null if this worker has been woken.
runnable* worker::look_out() noexcept {
  const exact_deadlines by_the_microsecond;
  for (const auto& each : pool_.workers_) {
    each->turns_looked_at_.store(each->turns_begun(), relaxed);  // [looks]
    each->waits_looked_at_.store(nullptr, relaxed);
  }
  duration interval = tuning::lookout_shortest;
  unsigned quiet_looks = 0;
  for (;;) {
    slots_seen what = slots_seen::quiet;
    if (runnable* const r = look_at_slots(what)) {
      if (!pool_.withdraw_parked(*this)) parker_.park();  // as in sleep()
      pool_.another_looks_out();
      return r;
    }
    // If all workers are parked, it dozes sooner, but not at once: otherwise each of many short
    // turns would wake it.
    const unsigned more = pool_.are_all_parked() ? looks_at_rest : 1;
    quiet_looks = what == slots_seen::quiet ? quiet_looks + more : 0;
    if (quiet_looks >= tuning::lookout_quiet_looks && pool_.lookout_may_doze(*this)) {
      if (!pool_.is_anything_in_a_slot()) {
        parker_.park();
        return nullptr;
      }
      pool_.lookout_is_awake(*this);
      what = slots_seen::waiting;
    }
    if (what == slots_seen::waiting) interval = tuning::lookout_shortest;
    if (parker_.park_until(clock::now() + interval)) return nullptr;
    interval = std::min<duration>(2 * interval, tuning::lookout_longest);
  }
}

// Takes a runnable that has waited since the last look while the same turn was running. Two actors
// that talk to each other would have begun many turns since then. Busy: some worker is in short
// turns. Waiting: the next look may find a runnable to take.
runnable* worker::look_at_slots(slots_seen& what) noexcept {
  for (const auto& each : pool_.workers_) {
    if (each.get() == this) continue;
    runnable* const waits = each->slot_.load(relaxed);  // [slot] relaxed: a hint
    const std::uint64_t turns = each->turns_begun();
    const std::uint64_t begun = turns - each->turns_looked_at_.load(relaxed);  // [looks]
    if (waits != nullptr && begun == 0 && waits == each->waits_looked_at_.load(relaxed)) {
      if (runnable* const r = pool_.take_from_slot(*each)) return r;
    }
    if (begun > tuning::lookout_short_turns) {
      if (what == slots_seen::quiet) what = slots_seen::busy;
    } else if (waits != nullptr) {
      what = slots_seen::waiting;
    }
    each->turns_looked_at_.store(turns, relaxed);  // [looks]
    each->waits_looked_at_.store(waits, relaxed);
  }
  return nullptr;
}

// Watches the other workers. Returns when this worker should search for work.
void worker::watch() noexcept {
  for (const auto& each : pool_.workers_) {
    each->turns_seen_ = each->turns_begun();
    each->stuck_for_ = 0;
  }
  while (!parker_.park_until(clock::now() + tuning::watch_interval)) {
    if (sees_one_stuck()) {
      pool_.limit_.interrupt();
    } else {  // a worker in a long turn does not call limit_.look()
      pool_.limit_.look([this] { return pool_.steps_done(); }, pool_.running());
    }
    if (!may_take()) continue;
    if (!pool_.withdraw_parked(*this)) parker_.park();  // as in sleep()
    return;
  }
}

// Returns true if a worker has work that others could take, and has begun no turn for a while.
bool worker::sees_one_stuck() noexcept {
  bool one_is = false;
  bool all_are = true;
  for (const auto& each : pool_.workers_) {
    if (each.get() == this) continue;
    const std::uint64_t turns = each->turns_begun();
    each->stuck_for_ = turns == each->turns_seen_ ? each->stuck_for_ + 1 : 0;
    each->turns_seen_ = turns;
    const bool is_stuck = each->stuck_for_ >= tuning::watches_stuck;
    one_is = one_is || (is_stuck && each->has_waiting());
    all_are = all_are && is_stuck;
  }
  // All workers take from the shared queue: it is stuck if all of them are.
  return one_is || (all_are && pool_.has_injected());
}

runnable* worker::search() noexcept {
  return search_.run(
      index_, pool_.size(), pool_.search_rounds_,
      [this](std::size_t victim) noexcept {
        runnable* first = nullptr;
        (void)pool_.workers_[victim]->ring_.steal_half_into(ring_, first);
        return first;
      },
      [this]() noexcept { return take_injected(); });
}

}  // namespace troupe::detail
