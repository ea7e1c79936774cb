// SPDX-License-Identifier: Apache-2.0
#include "worker.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <troupe/sync/per_thread.hpp>

namespace troupe::detail {

namespace {

worker*& this_worker() noexcept { return per_thread<worker*>::here(); }

}  // namespace

bool worker_pool::is_current() const noexcept {
  return this_worker() != nullptr && &this_worker()->pool() == this;
}

void worker_pool::schedule(runnable& r) noexcept {
  if (is_current()) {
    this_worker()->push(r);
  } else {
    inject(r);
  }
}

void worker::start() {
  thread_ = start_thread("troupe/" + std::to_string(index_), [this] { run(); });
}

void worker::join() {
  if (thread_.joinable()) thread_.join();
}

void worker::run() {
  this_worker() = this;
  for (;;) {
    runnable* r = next();
    if (r == nullptr) r = find_work();
    if (r == nullptr) return;
    while (pool_.turn_(*r, activity_) == turn_result::again) {
      if (alone()) continue;
      push_to_ring(*r);
      break;
    }
  }
}

// Nobody else waits for a turn here: in the ring, work would only wake a thief.
bool worker::alone() const noexcept {
  return slot_ == nullptr && ring_.empty() && !pool_.has_injected();
}

void worker::push(runnable& r) noexcept {
  runnable* const before = slot_;
  slot_ = &r;
  if (before != nullptr) push_to_ring(*before);
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

runnable* worker::next() noexcept {
  if (++tick_ % tuning::injected_interval == 0) {
    if (runnable* const r = pool_.take_injected()) return r;
  }
  if (slot_ != nullptr) {
    runnable* const r = slot_;
    slot_ = nullptr;
    if (++slot_streak_ <= tuning::slot_streak_max || alone()) return r;
    push_to_ring(*r);
  }
  slot_streak_ = 0;
  return next_from_ring();
}

runnable* worker::next_from_ring() noexcept {
  if (runnable* const r = ring_.pop()) return r;
  return take_injected();
}

// One to run and some for the ring, with one visit to the shared queue's mutex.
runnable* worker::take_injected() noexcept {
  runnable* const first =
      pool_.take_injected(tuning::ring_capacity / 2, [this](runnable& more) noexcept {
        // The ring is empty and takes half its capacity; nobody else pushes to it.
        (void)ring_.push(&more);
      });
  return first;
}

runnable* worker::find_work() noexcept {
  bool searching = pool_.try_search();
  for (;;) {
    if (searching) {
      if (runnable* const r = search()) {
        pool_.stop_searching();
        return r;
      }
    }
    pool_.register_parked(*this, searching);
    if (pool_.work_in_sight()) {
      if (!pool_.withdraw_parked(*this)) parker_.park();  // already woken: the token is on its way
    } else {
      parker_.park();
    }
    // Whoever took us off the list counted us as searching.
    searching = true;
    // [stop] acquire: pairs with the release in ~worker_pool().
    if (pool_.stopping_.load(acquire)) {
      pool_.stop_searching();
      return nullptr;
    }
  }
}

runnable* worker::search() noexcept {
  for (unsigned round = 0; round < tuning::search_rounds; ++round) {
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
