// SPDX-License-Identifier: Apache-2.0
#include "worker.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe::detail {

// Nobody else waits for a turn here: in the ring, work would only wake a thief.
inline bool worker::alone() const noexcept { return !has_waiting() && !pool_.has_injected(); }

inline bool worker::is_time_to_look() noexcept {
  if (--turns_until_look_ != 0) [[likely]]
    return false;
  turns_until_look_ = tuning::injected_interval;
  return true;
}

// Waits for one if there is none. Null if the pool stops.
inline runnable* worker::next() noexcept {
  if (steps_back_ || is_time_to_look()) [[unlikely]] {
    if ((std::exchange(steps_back_, false) || are_too_many()) && pool_.try_step_back()) {
      hand_over();
      return find_work(true);
    }
    // Where only some of the workers run, each does what others would have done, too.
    const bool all_run = pool_.limit_.now() == pool_.size();
    if (runnable* const r = all_run ? pool_.take_injected() : take_injected()) return r;
  }
  // Turns that are used up can be long: those in the shared queue would wait for many of them.
  if (others_first_) [[unlikely]] {
    others_first_ = false;
    if (runnable* const r = take_injected()) return r;
  }
  if (runnable* const r = slot_.load(relaxed)) {  // [slot]
    slot_.store(nullptr, relaxed);
    if (++slot_streak_ <= tuning::slot_streak_max) [[likely]]
      return r;
    if (alone()) {
      slot_streak_ = 0;  // who comes now does not wait for more turns than who was there before
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
      // [turn-function] relaxed: it comes before what is scheduled for it.
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
      // Nobody need steal it while it waits for something short.
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

// Too many are only those who get on: who is in a long turn does nothing for the rest.
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
    // A full ring is work for more than this worker: half of it goes where all can take it.
    std::array<runnable*, tuning::ring_capacity / 2 + 1> overflow;
    std::size_t count = ring_.take_half(overflow.data(), overflow.size() - 1);
    overflow[count++] = &r;
    pool_.inject(overflow.data(), count);
  } else {
    pool_.wake_one_if_needed();
  }
}

// One to run and some for the ring, with one visit to the shared queue's mutex.
runnable* worker::take_injected() noexcept {
  // Nobody else pushes to the ring: there is room for as many, and for one beside it.
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

// The caller has been counted as searching, or not. Null if the pool stops.
runnable* worker::find_work(bool searching) noexcept {
  runnable* const r = wait_for_work(searching);
  begins(timeline_slice::kind::running);
  return r;
}

runnable* worker::wait_for_work(bool searching) noexcept {
  for (;;) {
    const bool keeps_out = searching && !may_take();
    if (searching && !keeps_out) {
      begins(timeline_slice::kind::searching);
      if (runnable* const r = search()) {
        pool_.stop_searching();
        return r;
      }
    }
    sleep(searching, keeps_out);
    // Whoever took us off the list counted us as searching.
    searching = true;
    // [stop] acquire: pairs with the release in ~worker_pool().
    if (pool_.stopping_.load(acquire)) {
      pool_.stop_searching();
      return nullptr;
    }
  }
}

// Who may not leaves it to those who run, and they will come by it.
bool worker::may_take() noexcept {
  const unsigned running = pool_.running();
  return running == 0 || running < pool_.limit_.now();
}

// Parks, unless there is work that nobody else will come by.
void worker::sleep(bool searched, bool keeps_out) noexcept {
  begins(timeline_slice::kind::parked);
  pool_.register_parked(*this, searched);
  if (pool_.needs_me(keeps_out)) {
    if (!pool_.withdraw_parked(*this)) parker_.park();  // already woken: the token is on its way
    return;
  }
  // [watch] Behind the census: if a watcher is about to leave, either this sees that it has, or the
  // watcher is the last of the searchers and looks once more. Acquire: what it has noted is visible.
  if (!keeps_out || pool_.watched_.exchange(true, acquire)) return parker_.park();
  watch();
  // [watch] release: the next watcher. It comes before this worker's next step in the census.
  pool_.watched_.store(false, release);
}

// Looks after the others, and comes back when this worker is to search.
void worker::watch() noexcept {
  for (const auto& each : pool_.workers_) {
    each->turns_seen_ = each->turns_begun();
    each->stuck_for_ = 0;
  }
  while (!parker_.park_until(clock::now() + tuning::watch_interval)) {
    if (sees_one_stuck()) {
      pool_.limit_.interrupt();
    } else {  // who is in a long turn does not look
      pool_.limit_.look([this] { return pool_.steps_done(); }, pool_.running());
    }
    if (!may_take()) continue;
    if (!pool_.withdraw_parked(*this)) parker_.park();  // as in sleep()
    return;
  }
}

// Somebody has work for others and has begun no turn for a while.
bool worker::sees_one_stuck() noexcept {
  bool one_is = false;
  bool all_are = true;
  for (const auto& each : pool_.workers_) {
    if (each.get() == this) continue;
    const std::uint64_t turns = each->turns_begun();
    each->stuck_for_ = turns == each->turns_seen_ ? each->stuck_for_ + 1 : 0;
    each->turns_seen_ = turns;
    const bool is_stuck = each->stuck_for_ >= tuning::watches_stuck;
    one_is = one_is || (is_stuck && each->has_stealable());
    all_are = all_are && is_stuck;
  }
  // The shared queue is everybody's work: it is stuck if all of them are.
  return one_is || (all_are && pool_.has_injected());
}

runnable* worker::search() noexcept {
  for (unsigned round = 0; round < pool_.search_rounds_; ++round) {
    if (runnable* const r = steal()) return r;
    if (runnable* const r = take_injected()) return r;
    for (unsigned i = 0; i < tuning::search_pauses; ++i) cpu_relax();
  }
  return nullptr;
}

runnable* worker::steal() noexcept {
  // A step of xorshift32 (Marsaglia, 2003): which victim comes first must differ among thieves.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  const std::size_t count = pool_.workers_.size();
  for (std::size_t i = 0; i < count; ++i) {
    worker& victim = *pool_.workers_[(random_ + i) % count];
    if (&victim == this) continue;
    runnable* first = nullptr;
    if (victim.ring_.steal_half_into(ring_, first) != 0) return first;
  }
  return nullptr;
}

}  // namespace troupe::detail
