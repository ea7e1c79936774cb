// SPDX-License-Identifier: Apache-2.0
// Adds threads to a pool while turns block, and retires them afterwards.
#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <troupe/detail/scheduler/worker_pool.hpp>

#include "worker.hpp"
#include "worker_thread.hpp"

namespace troupe::detail {

bool worker_pool::will_block() noexcept {
  worker_thread* const here = worker_thread::here();
  if (here == nullptr || &here->pool() != this) {
    const std::lock_guard lock(threads_mutex_);
    return is_stopping() || does_any_worker_run();
  }
  if (!here->is_in_turn()) return true;
  limit_.interrupt();
  stuck_turn why{here->turn_of(), duration::zero(), 0};
  bool grew = false;
  bool others_run = true;
  {
    const std::lock_guard lock(threads_mutex_);
    worker* const mine = here->its_worker();
    if (is_stopping() || mine == nullptr) return true;  // another thread holds it, or not needed
    worker_thread* const other = thread_to_spare();
    grew = other != nullptr;
    if (grew) {
      here->give_up();
      here->is_replaced();
      other->give(*mine);
      ++replacements_;
    } else {
      mine->hand_over();
      ++refused_;
      here->blocks(true);
      others_run = does_any_worker_run();
    }
    why.threads = threads_there();
  }
  tell(why, grew);
  return others_run;
}

void worker_pool::has_blocked() noexcept {
  worker_thread* const here = worker_thread::here();
  if (here == nullptr || &here->pool() != this || !here->is_blocked()) return;
  const std::lock_guard lock(threads_mutex_);
  here->blocks(false);
}

// Returns true if at least one worker's thread is not blocked. Each worker has a thread. Requires
// the lock.
bool worker_pool::does_any_worker_run() const noexcept {
  const std::size_t count = thread_count_.load(relaxed);  // [threads] relaxed: under the lock
  std::size_t blocked = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (threads_[i]->is_blocked() && threads_[i]->its_worker() != nullptr) ++blocked;
  }
  return blocked < size();
}

// Called by another thread when `by` appears to have been in one handler with `w` for too long. If
// no thread is available, the work in the slot and the ring moves to the shared queue, where other
// workers find it.
// Returns false if no thread is available. That is counted and reported once per turn.
bool worker_pool::replace(worker& w, worker_thread& by, duration lasted, bool is_told) noexcept {
  stuck_turn why{by.turn_of(), lasted, 0};
  bool grew = false;
  {
    const std::lock_guard lock(threads_mutex_);
    if (is_stopping() || by.its_worker() != &w || !by.is_in_turn()) return true;
    worker_thread* const other = thread_to_spare();
    grew = other != nullptr;
    const bool is_taken = (grew || w.has_waiting()) && by.try_take_away(w);
    if (grew && !is_taken) {
      resting_.push_back(other);
      return true;
    }
    if (grew) {
      by.is_replaced();
      other->give(w);
      ++replacements_;
    } else {
      if (is_taken) {
        w.hand_over();
        by.give_back(w);
      }
      if (is_told) return false;
      ++refused_;
    }
    why.threads = threads_there();
  }
  tell(why, grew);
  return grew;
}

void worker_pool::tell(const stuck_turn& why, bool grew) const noexcept {
  if (listener_ == nullptr) return;
  grew ? listener_->grew(why) : listener_->could_not_grow(why);
}

// Returns the thread that started to rest last, or else a retired or a new one; null if no thread
// is available. Requires the lock.
worker_thread* worker_pool::thread_to_spare() noexcept {
  if (!resting_.empty()) {
    worker_thread* const one = resting_.back();
    resting_.pop_back();
    return one;
  }
  const std::size_t count = thread_count_.load(relaxed);  // [threads] relaxed: under the lock
  try {
    // A retired thread destroys its thread-locals. These belong to the user, and destroying them
    // may take any time. It is not reused until that is done: no thread waits for it under the
    // lock.
    const auto at = std::find_if(retired_.begin(), retired_.end(),
                                 [](const worker_thread* each) { return each->has_ended(); });
    if (at != retired_.end()) {
      worker_thread* const one = *at;
      one->join();  // returns at once
      one->start();
      retired_.erase(at);
      --gone_;
      return one;
    }
    if (count == max_threads_) return nullptr;
    auto one = std::make_unique<worker_thread>(*this, static_cast<unsigned>(count + 1), settles_at_,
                                               timeline_);
    one->start();
    threads_[count] = std::move(one);
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (const std::system_error&) {
    return nullptr;
  }
  // [unchecked] [threads] release, [alive] seq_cst: see for_each_thread(). A failure needs a
  // shutdown that looks in between.
  thread_count_.store(count + 1, seq_cst);
  return threads_[count].get();
}

// Adds a thread that has lost its worker, and whose turn is over, to the resting threads. Returns
// false if it holds a worker again or the pool is stopping.
bool worker_pool::rests(worker_thread& t) noexcept {
  const std::lock_guard lock(threads_mutex_);
  if (t.its_worker() != nullptr || is_stopping()) return false;
  resting_.push_back(&t);  // capacity is reserved
  return true;
}

// Retires a thread that has rested for long enough. Returns false if another thread has just taken
// it off the list.
bool worker_pool::try_retire(worker_thread& t) noexcept {
  {
    std::unique_lock lock(threads_mutex_);
    const auto at = std::find(resting_.begin(), resting_.end(), &t);
    if (at == resting_.end()) return false;
    resting_.erase(at);
    ++gone_;
    const unsigned left = threads_there();
    lock.unlock();
    if (listener_ != nullptr && !is_stopping()) listener_->shrank(left);
  }
  // Only now may it be reused and joined: the listener is user code and may take any time.
  const std::lock_guard lock(threads_mutex_);
  retired_.push_back(&t);  // capacity is reserved
  return true;
}

// The kernel keeps 15 bytes. The pool's name is cut to fit; the suffix that distinguishes its
// threads is kept.
std::string worker_pool::thread_name(std::string_view which) const {
  const std::string behind = "/" + std::string(which);
  return name_.substr(0, 15 - std::min<std::size_t>(behind.size(), 15)) + behind;
}

// Pins the thread that holds `w`, whichever it is, to the worker's CPU.
void worker_pool::pin_here(const worker& w) const noexcept {
  if (traits_.cpus().size() == size()) traits_.pin_here(w.index());
}

// Requires the lock.
unsigned worker_pool::threads_there() const noexcept {
  // [threads] relaxed: under the lock
  return static_cast<unsigned>(thread_count_.load(relaxed) - gone_);
}

worker_pool::population worker_pool::threads() const noexcept {
  const std::lock_guard lock(threads_mutex_);
  return {threads_there(), static_cast<unsigned>(resting_.size()), replacements_, refused_};
}

}  // namespace troupe::detail
