// SPDX-License-Identifier: Apache-2.0
// How a pool gets more threads while turns block, and fewer afterwards.
#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <troupe/scheduler/worker_pool.hpp>

#include "worker.hpp"
#include "worker_thread.hpp"

namespace troupe::detail {

bool worker_pool::will_block() noexcept {
  worker_thread* const here = worker_thread::here();
  if (here == nullptr || &here->pool() != this || !here->is_in_turn()) return true;
  limit_.interrupt();
  stuck_turn why{here->turn_of(), duration::zero(), 0};
  bool grew = false;
  {
    const std::lock_guard lock(threads_mutex_);
    worker* const mine = here->its_worker();
    if (is_stopping() || mine == nullptr) return true;  // another thread has it, or nobody needs it
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
    }
    why.threads = threads_there();
  }
  tell(why, grew);
  return grew || size() > 1;
}

// By another thread: `by` has been in one handler with `w` for too long, as far as it could see. Where there is no thread
// to be had, what waits in the slot and the ring goes where other workers find it.
// False if there is no thread to be had; that is counted and told for a turn once.
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

// The one that has rested least; otherwise a new one. Null if that cannot be. Under the lock.
worker_thread* worker_pool::thread_to_spare() noexcept {
  if (!resting_.empty()) {
    worker_thread* const one = resting_.back();
    resting_.pop_back();
    return one;
  }
  const std::size_t count = thread_count_.load(relaxed);  // [threads] relaxed: under the lock
  try {
    if (!retired_.empty()) {
      worker_thread* const one = retired_.back();
      one->join();  // it is on its way out
      one->start();
      retired_.pop_back();
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
  // [unchecked] [threads] release, [alive] seq_cst: see for_each_thread(). Who shuts down would have to look in between.
  thread_count_.store(count + 1, seq_cst);
  return threads_[count].get();
}

// It has lost its worker, and is out of the turn. False if it has it again, or the pool stops.
bool worker_pool::rests(worker_thread& t) noexcept {
  const std::lock_guard lock(threads_mutex_);
  if (t.its_worker() != nullptr || is_stopping()) return false;
  resting_.push_back(&t);  // has room
  return true;
}

// It has rested for long enough. False if somebody has just chosen it.
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
  // Only now may it be waited for: the listener is the user's.
  const std::lock_guard lock(threads_mutex_);
  retired_.push_back(&t);  // has room
  return true;
}

// The kernel keeps 15 bytes: of the name what there is room for, and all of what tells its threads apart.
std::string worker_pool::thread_name(std::string_view which) const {
  const std::string behind = "/" + std::string(which);
  return name_.substr(0, 15 - std::min<std::size_t>(behind.size(), 15)) + behind;
}

// Whichever thread has the worker.
void worker_pool::pin_here(const worker& w) const noexcept {
  if (traits_.cpus().size() == size()) traits_.pin_here(w.index());
}

// Under the lock.
unsigned worker_pool::threads_there() const noexcept {
  return static_cast<unsigned>(thread_count_.load(relaxed) - gone_);  // [threads] relaxed: likewise
}

worker_pool::population worker_pool::threads() const noexcept {
  const std::lock_guard lock(threads_mutex_);
  return {threads_there(), static_cast<unsigned>(resting_.size()), replacements_, refused_};
}

}  // namespace troupe::detail
