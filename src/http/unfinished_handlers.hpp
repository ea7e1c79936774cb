// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/troupe.hpp>

#include "request_handler.hpp"

namespace troupe::http::detail {

/// The handlers of one connection that may not have terminated yet: usually none or one.
///
/// Threads: a plain value.
class running_handlers {
 public:
  /// Makes room for one more. Errors: std::bad_alloc.
  void reserve_one() {
    forget_ended();
    if (spare_.empty()) spare_.emplace_back();
  }
  /// Needs no memory after reserve_one().
  void add(ref<request_handler> one) noexcept {
    spare_.front() = {.who = std::move(one)};
    running_.splice(running_.end(), spare_, spare_.begin());
  }
  /// Cancels all of them. Returns false if there is no memory to tell one of them; it is told by
  /// the next call.
  bool stop_now() noexcept {
    bool all = true;
    for (entry& each : running_) {
      if (each.told) continue;
      try {
        each.who.stop_now();
        each.told = true;
      } catch (const std::exception&) {
        all = false;
      }
    }
    return all;
  }
  void forget_ended() noexcept {
    for (auto at = running_.begin(); at != running_.end();) {
      const auto here = at++;
      if (!troupe::detail::ref_access::block(here->who).is_closed()) continue;
      here->who = {};
      spare_.splice(spare_.end(), running_, here);
    }
    while (spare_.size() > 1) spare_.pop_back();
  }

 private:
  friend class unfinished_handlers;

  struct entry {
    ref<request_handler> who = {};
    bool told = false;
  };

  std::list<entry> running_;
  std::list<entry> spare_;
};

/// The handlers whose connections have ended before them: a server waits for these when it stops,
/// so that no handler uses anything that the server's owner destroys afterwards.
///
/// A handler that could not be told to stop, for lack of memory, is told when many further ones
/// have been added, or when the server stops.
///
/// Threads: any.
class unfinished_handlers {
 public:
  /// Stops them. Needs no memory.
  void add(running_handlers&& of) noexcept {
    (void)of.stop_now();
    of.forget_ended();
    if (of.running_.empty()) return;
    const std::lock_guard lock(mutex_);
    all_.running_.splice(all_.running_.end(), of.running_);
    if (all_.running_.size() < look_at_) return;
    all_.forget_ended();
    (void)all_.stop_now();
    look_at_ = std::max(look_at_min, 2 * all_.running_.size());
  }

  /// Waits until all of them have terminated.
  void join() {
    const std::lock_guard one_at_a_time(join_mutex_);
    running_handlers those;
    {
      const std::lock_guard lock(mutex_);
      those.running_.swap(all_.running_);
    }
    while (!those.stop_now()) std::this_thread::yield();
    for (const running_handlers::entry& each : those.running_) each.who.join();
  }

 private:
  // All of them are examined again when their number has doubled.
  static constexpr std::size_t look_at_min = 64;

  mutex join_mutex_;
  mutex mutex_;  // guards what follows
  std::size_t look_at_ = look_at_min;
  running_handlers all_;
};

}  // namespace troupe::http::detail
