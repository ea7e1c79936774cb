// SPDX-License-Identifier: Apache-2.0
// Futexes, mutexes, and waiting loops.
#include <algorithm>

#include "execution.hpp"

namespace troupe::model {

// The kernel compares under a lock that futex_wake() takes as well. So a wake that came too early
// for this sleeper still makes everything before it visible.
bool execution::futex_wait(detail::cell of, bits expected, bool timed, source_line where) {
  point(where);
  location& at = locate(of, where);
  const moment now = tick(where);
  vector_clock known = me().clock;
  known.join(at.wakes);
  readable_.clear();
  const std::uint32_t floor = memory::floor(at, known);
  for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
    readable_.push_back(at.order[p]);
  }
  const model::store& from = *pick_store(readable_);
  memory_.note_read(at, now, from);
  if (from.value != expected) {
    happened(did_not_sleep, mix(at.name, from.identity));
    if (traced_)
      tell(where, "does not sleep on ", describe(at), ": it is ", describe(from.value), ", not ",
           describe(expected));
    return false;
  }
  if (spurious_left_ > 0 && decides_.pick(2) == 1) {
    --spurious_left_;
    happened(did_not_sleep, mix(at.name, from.identity + 1));
    if (traced_) tell(where, "wakes from ", describe(at), " for no reason");
    return false;
  }
  happened(did_not_sleep, mix(at.name, from.identity + 2));
  if (traced_) tell(where, "sleeps on ", describe(at), " while it is ", describe(expected));
  me().timed = timed;
  sleepers_[of.at].push_back(current_);
  block_on(waits::for_futex, of.at);
  tick(where);
  if (me().woken) {
    if (traced_) tell(where, "wakes");
    return false;
  }
  std::erase(sleepers_[of.at], current_);
  happened(timed_out, 0);
  if (traced_) tell(where, "has waited until its deadline");
  return true;
}

// Only the address is used.
void execution::futex_wake(const void* of, std::uint32_t count, source_line where) {
  point(where);
  tick(where);
  location* const at = memory_.find(of);
  if (at != nullptr) at->wakes.join(me().clock);
  const std::uint64_t identity = happened(woke, at != nullptr ? at->name : 0);
  std::vector<thread_index>& sleeping = sleepers_[of];
  if (traced_)
    tell(where, "wakes ", std::min<std::size_t>(count, sleeping.size()), " of ", sleeping.size(),
         " that sleep", at != nullptr ? " on " + describe(*at) : "");
  for (; count > 0 && !sleeping.empty(); --count) {
    const std::size_t chosen =
        sleeping.size() == 1 ? 0 : decides_.pick(static_cast<std::uint32_t>(sleeping.size()));
    thread_state& one = threads_[sleeping[chosen]];
    sleeping.erase(sleeping.begin() + static_cast<std::ptrdiff_t>(chosen));
    one.woken = true;
    one.history = mix(mix(one.history, was_woken), identity);
  }
  progress();
}

// The thread is not chosen again before another thread has changed a value.
void execution::yield(source_line where) {
  me().yielded = true;
  decides_.thread_yields(current_);
  point(where);
}

void execution::mutex_born(const void* mutex) { mutexes_[mutex] = mutex_state{}; }

void execution::mutex_ends(const void* mutex) {
  mutex_state& of = mutexes_[mutex];
  if (of.holder >= 0) {
    abandon("a mutex is destroyed while " + describe_thread(static_cast<thread_index>(of.holder)) +
            " holds it");
  }
  of.is_over = true;
}

execution::mutex_state& execution::usable(const void* mutex, source_line where) {
  mutex_state& of = mutexes_[mutex];
  const block* const in = find_block(mutex);
  if (of.is_over || (in != nullptr && in->is_freed)) {
    if (traced_) tell(where, "uses a mutex that was destroyed");
    abandon("use after free: a mutex that was destroyed");
  }
  return of;
}

void execution::lock(const void* mutex, source_line where) {
  point(where);
  if (usable(mutex, where).holder == current_) {
    abandon("deadlock: a mutex is locked by the thread that holds it");
  }
  while (usable(mutex, where).holder >= 0) block_on(waits::for_mutex, mutex);
  take(mutexes_[mutex], where);
}

bool execution::try_lock(const void* mutex, source_line where) {
  point(where);
  mutex_state& of = usable(mutex, where);
  if (of.holder >= 0) {
    tick(where);
    happened(failed_to_change, of.identity);
    if (traced_) tell(where, "finds a mutex locked");
    return false;
  }
  take(of, where);
  return true;
}

void execution::take(mutex_state& of, source_line where) {
  tick(where);
  of.holder = current_;
  me().clock.join(of.released);
  happened(locked, of.identity);
  if (traced_) tell(where, "locks a mutex");
}

void execution::unlock(const void* mutex, source_line where) {
  mutex_state& of = usable(mutex, where);
  if (of.holder != current_) abandon("a mutex is unlocked by a thread that does not hold it");
  tick(where);
  of.holder = -1;
  of.released = me().clock;
  of.identity = happened(unlocked, of.identity);
  if (traced_) tell(where, "unlocks it");
  progress();
}

void execution::check_mutexes() {
  for (const auto& each : mutexes_) {
    if (each.second.holder < 0) continue;
    failure_ = failure{"a mutex is still locked at the end, by " +
                           describe_thread(static_cast<thread_index>(each.second.holder)),
                       {}};
  }
}

}  // namespace troupe::model
