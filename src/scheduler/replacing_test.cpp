// SPDX-License-Identifier: Apache-2.0
// Long-running handlers, and the threads that take over their workers.
#include <troupe/detail/scheduler/worker_pool.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>

#include "worker_thread.hpp"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

struct job : runnable {
  std::function<turn_result()> does;
};

turn_result turn(runnable& r, activity& of_thread) noexcept {
  of_thread.turns.add(1);
  return static_cast<job&>(r).does();
}

/// Records the notifications of a pool.
class told final : public pool_listener {
 public:
  void grew(const stuck_turn& why) noexcept override {
    const std::lock_guard lock(mutex_);
    grew_.push_back(why);
    changed_.notify_all();
  }
  void could_not_grow(const stuck_turn&) noexcept override {
    const std::lock_guard lock(mutex_);
    ++refused_;
    changed_.notify_all();
  }
  void shrank(unsigned threads) noexcept override {
    const std::lock_guard lock(mutex_);
    shrank_.push_back(threads);
    changed_.notify_all();
  }

  template <class Enough>
  bool wait_until(Enough&& enough) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return enough(*this); });
  }

  [[nodiscard]] stuck_turn first_growth() {
    const std::lock_guard lock(mutex_);
    return grew_.front();
  }

  std::vector<stuck_turn> grew_;
  std::vector<unsigned> shrank_;
  unsigned refused_ = 0;

 private:
  mutex mutex_;
  condition_variable changed_;
};

/// A handler that blocks until it is released.
struct blocker : job {
  std::binary_semaphore begun{0};
  std::binary_semaphore go_on{0};
  std::binary_semaphore over{0};

  blocker() {
    does = [this] {
      begun.release();
      go_on.acquire();
      over.release();
      return turn_result::ended;
    };
  }
};

struct signal : job {
  std::binary_semaphore done{0};
  signal() {
    does = [this] {
      done.release();
      return turn_result::ended;
    };
  }
};

TEST(stuck_worker, moves_to_another_thread_with_the_work_that_its_turn_woke) {
  told tells;
  blocker slow;
  signal in_slot;
  signal in_ring;
  worker_pool pool({.workers = 1, .blocking_threshold = 2ms, .listener = &tells}, turn);
  const auto blocks = slow.does;
  slow.does = [&] {
    pool.schedule(in_ring);
    pool.schedule(in_slot);
    return blocks();
  };
  pool.schedule(slow);
  in_slot.done.acquire();
  in_ring.done.acquire();
  // On a slow host, one of the other turns may take too long as well, later.
  ASSERT_TRUE(tells.wait_until([](const told& t) { return !t.grew_.empty(); }));
  const stuck_turn first = tells.first_growth();
  EXPECT_EQ(first.whose, &slow);
  EXPECT_GE(first.lasted, 2ms);
  EXPECT_EQ(first.threads, 2u);
  EXPECT_GE(pool.threads().replacements, 1u);
  slow.go_on.release();
  slow.over.acquire();
}

TEST(stuck_worker, moves_to_another_thread_for_external_work) {
  blocker slow;
  signal from_outside;
  worker_pool pool({.workers = 1, .blocking_threshold = 2ms}, turn);
  pool.schedule(slow);
  slow.begun.acquire();
  pool.schedule(from_outside);
  from_outside.done.acquire();
  slow.go_on.release();
  slow.over.acquire();
}

TEST(stuck_worker, moves_to_another_thread_for_work_queued_at_another_worker) {
  told tells;
  blocker slow;
  atomic<bool> is_over{false};
  std::array<job, 2> busy;  // alternate on one worker: one of them always waits in its ring
  std::counting_semaphore<2> ended{0};
  worker_pool pool({.workers = 2, .blocking_threshold = 2ms, .listener = &tells}, turn);
  pool.schedule(slow);
  slow.begun.acquire();
  for (job& each : busy) {
    each.does = [&] {
      if (!is_over.load(relaxed)) return turn_result::again;
      ended.release();
      return turn_result::ended;
    };
    pool.schedule(each);
  }
  EXPECT_TRUE(tells.wait_until([](const told& t) { return !t.grew_.empty(); }));
  is_over.store(true, relaxed);
  for (std::size_t i = 0; i < busy.size(); ++i) ended.acquire();
  slow.go_on.release();
  slow.over.acquire();
  ASSERT_FALSE(tells.grew_.empty());
  EXPECT_EQ(tells.grew_[0].whose, &slow);
}

TEST(stuck_worker, keeps_its_thread_while_no_work_is_waiting) {
  told tells;
  blocker slow;
  worker_pool pool({.workers = 1, .blocking_threshold = 1ms, .listener = &tells}, turn);
  pool.schedule(slow);
  slow.begun.acquire();
  const time_point until = clock::now() + 30ms;
  while (clock::now() < until) std::this_thread::yield();
  slow.go_on.release();
  slow.over.acquire();
  EXPECT_EQ(pool.threads().replacements, 0u);
}

TEST(stuck_worker, does_not_keep_further_blocking_handlers_from_starting) {
  constexpr std::size_t count = 20;
  std::array<blocker, count> slow;
  worker_pool pool({.workers = 2, .blocking_threshold = 1ms}, turn);
  for (blocker& each : slow) pool.schedule(each);
  for (blocker& each : slow) each.begun.acquire();
  const worker_pool::population now = pool.threads();
  EXPECT_GE(now.threads, count);
  EXPECT_LE(now.threads, count + 2);
  for (blocker& each : slow) each.go_on.release();
  for (blocker& each : slow) each.over.acquire();
}

TEST(stuck_worker, gets_no_thread_beyond_the_limit_until_one_is_free) {
  told tells;
  std::array<blocker, 3> slow;
  signal last;
  worker_pool pool({.workers = 1, .max_threads = 3, .blocking_threshold = 1ms, .listener = &tells},
                   turn);
  for (blocker& each : slow) {
    pool.schedule(each);
    each.begun.acquire();
  }
  pool.schedule(last);
  ASSERT_TRUE(tells.wait_until([](const told& t) { return t.refused_ > 0; }));
  EXPECT_FALSE(last.done.try_acquire());
  EXPECT_EQ(pool.threads().threads, 3u);
  EXPECT_EQ(pool.threads().refused, 1u) << "once for each handler";
  slow[0].go_on.release();
  last.done.acquire();
  for (std::size_t i = 1; i < slow.size(); ++i) slow[i].go_on.release();
  for (blocker& each : slow) each.over.acquire();
}

TEST(stuck_worker, its_thread_rests_and_is_used_again_or_ends) {
  told tells;
  worker_pool pool({.workers = 1, .blocking_threshold = 1ms, .listener = &tells}, turn);
  for (int i = 0; i < 3; ++i) {
    blocker slow;
    signal other;
    pool.schedule(slow);
    slow.begun.acquire();
    pool.schedule(other);
    other.done.acquire();
    slow.go_on.release();
    slow.over.acquire();
    while (pool.threads().resting == 0) std::this_thread::yield();
  }
  EXPECT_EQ(pool.threads().threads, 2u) << "the one that came back takes over the next time";
  EXPECT_EQ(pool.threads().replacements, 3u);
  ASSERT_TRUE(tells.wait_until([](const told& t) { return !t.shrank_.empty(); }));
  EXPECT_EQ(tells.shrank_[0], 1u);
  EXPECT_EQ(pool.threads().threads, 1u);

  // Another thread takes the place of the retired one.
  blocker slow;
  signal other;
  pool.schedule(slow);
  slow.begun.acquire();
  pool.schedule(other);
  other.done.acquire();
  EXPECT_EQ(pool.threads().threads, 2u);
  slow.go_on.release();
  slow.over.acquire();
}

/// A thread-local whose destructor blocks until it is released.
struct slow_to_end {
  static inline std::binary_semaphore begun{0};
  static inline std::binary_semaphore go_on{0};
  bool is_armed = false;
  static slow_to_end& here() {
    static thread_local slow_to_end one;
    return one;
  }
  ~slow_to_end() {
    if (!is_armed) return;
    begun.release();
    go_on.acquire();
  }
};

TEST(retired_thread, in_the_destructors_of_its_thread_locals_holds_up_nothing) {
  blocker slow;
  signal other;
  worker_pool pool({.workers = 1, .max_threads = 3}, turn);
  const auto blocks = slow.does;
  slow.does = [&] {
    slow_to_end::here().is_armed = true;
    (void)pool.will_block();
    return blocks();
  };
  pool.schedule(slow);
  slow.begun.acquire();
  slow.go_on.release();
  slow.over.acquire();
  slow_to_end::begun.acquire();  // after the thread has rested for a second
  while (pool.threads().threads != 1) std::this_thread::yield();

  // The next turn that blocks needs another thread.
  std::binary_semaphore is_done{0};
  atomic<bool> was_in_time{false};
  std::jthread waits_no_longer([&] {
    was_in_time.store(is_done.try_acquire_for(10s));
    slow_to_end::go_on.release();
  });
  blocker next;
  const auto blocks_as_well = next.does;
  next.does = [&] {
    pool.schedule(other);
    (void)pool.will_block();
    return blocks_as_well();
  };
  pool.schedule(next);
  other.done.acquire();
  EXPECT_EQ(pool.threads().threads, 2u);
  is_done.release();
  waits_no_longer.join();
  EXPECT_TRUE(was_in_time.load());
  next.go_on.release();
  next.over.acquire();
}

TEST(retired_thread, is_used_again_when_it_has_ended) {
  worker_pool pool({.workers = 1, .max_threads = 2}, turn);
  for (int i = 0; i < 2; ++i) {
    blocker slow;
    signal other;
    const auto blocks = slow.does;
    slow.does = [&] {
      pool.schedule(other);
      while (!pool.will_block()) std::this_thread::yield();  // the other thread may still be busy
      return blocks();
    };
    pool.schedule(slow);
    other.done.acquire();
    slow.go_on.release();
    slow.over.acquire();
    if (i == 0) {
      while (pool.threads().threads != 1) std::this_thread::yield();
    }
  }
  EXPECT_EQ(pool.threads().replacements, 2u);
}

TEST(stuck_worker, work_woken_after_the_worker_was_lost_still_runs) {
  job slow;
  signal before;
  std::array<signal, 3> after;
  int turns = 0;  // outlives the second turn
  worker_pool pool({.workers = 1, .blocking_threshold = 1ms}, turn);
  slow.does = [&] {
    if (++turns == 2) return turn_result::ended;
    pool.schedule(before);
    before.done.acquire();
    before.done.release();
    for (signal& each : after) pool.schedule(each);
    return turn_result::again;
  };
  pool.schedule(slow);
  for (signal& each : after) each.done.acquire();
}

TEST(a_turn_that_will_block, gives_its_worker_away_at_once) {
  blocker slow;
  signal in_slot;
  worker_pool pool(1, turn);  // without a monitor
  const auto blocks = slow.does;
  bool was_given = false;
  slow.does = [&] {
    pool.schedule(in_slot);
    was_given = pool.will_block() && pool.will_block();
    return blocks();
  };
  pool.schedule(slow);
  in_slot.done.acquire();
  slow.go_on.release();
  slow.over.acquire();
  EXPECT_TRUE(was_given);
  EXPECT_EQ(pool.threads().replacements, 1u) << "the second call has nothing to give";
}

TEST(a_turn_that_will_block, leaves_waiting_work_to_other_workers_without_a_spare_thread) {
  blocker slow;
  signal in_slot;
  worker_pool pool({.workers = 2, .max_threads = 2}, turn);
  const auto blocks = slow.does;
  bool was_given = false;
  slow.does = [&] {
    pool.schedule(in_slot);
    was_given = pool.will_block();
    return blocks();
  };
  pool.schedule(slow);
  in_slot.done.acquire();
  slow.go_on.release();
  slow.over.acquire();
  EXPECT_TRUE(was_given);
  EXPECT_EQ(pool.threads().replacements, 0u);
}

TEST(stuck_worker, leaves_waiting_work_to_other_workers_without_a_spare_thread) {
  blocker slow;
  signal in_slot;
  signal in_ring;
  worker_pool pool({.workers = 2, .max_threads = 2, .blocking_threshold = 1ms}, turn);
  const auto blocks = slow.does;
  slow.does = [&] {
    pool.schedule(in_ring);
    pool.schedule(in_slot);
    return blocks();
  };
  pool.schedule(slow);
  in_slot.done.acquire();
  in_ring.done.acquire();
  slow.go_on.release();
  slow.over.acquire();

  signal after;  // the thread's former worker is in use again
  pool.schedule(after);
  after.done.acquire();
}

// ── Stealing from a slot ──────────────────────────────────────────────────────────────────────

// This pool has no monitor: only the other worker can take from the slot.
TEST(private_slot, is_emptied_by_an_idle_worker_while_its_owners_turn_blocks) {
  job sends;
  signal receives;
  std::binary_semaphore over{0};
  bool was_in_time = false;
  worker_pool pool(2, turn);
  sends.does = [&] {
    pool.schedule(receives);
    was_in_time = receives.done.try_acquire_for(10s);
    over.release();
    return turn_result::ended;
  };
  pool.schedule(sends);
  over.acquire();
  EXPECT_TRUE(was_in_time);
  EXPECT_EQ(pool.threads().replacements, 0u) << "the turn has kept its worker";
}

TEST(private_slot, is_emptied_by_an_idle_worker_while_its_owners_turn_computes) {
  job sends;
  atomic<bool> is_handled{false};
  job receives;
  receives.does = [&] {
    is_handled.store(true);
    return turn_result::ended;
  };
  std::binary_semaphore over{0};
  bool was_in_time = false;
  worker_pool pool(2, turn);
  sends.does = [&] {
    const time_point until = clock::now() + 10s;
    pool.schedule(receives);
    while (!is_handled.load() && clock::now() < until) {
    }
    was_in_time = is_handled.load();
    over.release();
    return turn_result::ended;
  };
  pool.schedule(sends);
  over.acquire();
  EXPECT_TRUE(was_in_time);
}

// Repeated: the pool has come to rest before each round, or it has not.
TEST(private_slot, is_emptied_each_time_also_after_a_rest) {
  worker_pool pool(2, turn);
  for (int i = 0; i < 20; ++i) {
    job sends;
    signal receives;
    std::binary_semaphore over{0};
    bool was_in_time = false;
    sends.does = [&] {
      pool.schedule(receives);
      was_in_time = receives.done.try_acquire_for(10s);
      over.release();
      return turn_result::ended;
    };
    if (i % 2 == 0) {
      while (pool.parked() != 2) std::this_thread::yield();
      std::this_thread::sleep_for(5ms);  // not decisive: the lookout may or may not sleep by then
    }
    pool.schedule(sends);
    over.acquire();
    ASSERT_TRUE(was_in_time) << i;
  }
}

// Returns how often the threads of this process have gone to sleep.
long times_asleep() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_nvcsw;
}

TEST(worker_pool_at_rest, has_no_thread_that_wakes_up) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own that wakes up";
#endif
  worker_pool pool({.workers = 3, .blocking_threshold = 1ms}, turn);
  signal one;
  pool.schedule(one);
  one.done.acquire();
  // A thread that polls would go to sleep several times within the 300 ms. This one sleeps once.
  long fewest = 1'000;
  for (int i = 0; i < 20 && fewest > 2; ++i) {
    const long before = times_asleep();
    std::this_thread::sleep_for(300ms);
    fewest = std::min(fewest, times_asleep() - before);
  }
  EXPECT_LE(fewest, 2);
}

// A foreign thread schedules a runnable between two of its turns.
TEST(a_runnable_that_is_never_done, is_queued_after_work_in_the_shared_queue) {
  job busy;
  signal from_outside;
  std::binary_semaphore in_turn{0};
  std::binary_semaphore go_on{0};
  int turns = 0;
  int turns_before = 0;
  worker_pool pool(1, turn);
  from_outside.does = [&] {
    turns_before = turns;
    from_outside.done.release();
    return turn_result::ended;
  };
  busy.does = [&] {
    if (++turns == 1) {
      in_turn.release();
      go_on.acquire();
    }
    return turns == 100 ? turn_result::ended : turn_result::again;
  };
  pool.schedule(busy);
  in_turn.acquire();
  pool.schedule(from_outside);
  go_on.release();
  from_outside.done.acquire();
  EXPECT_EQ(turns_before, 1);
}

TEST(a_turn_that_will_block, is_refused_without_a_spare_thread) {
  job one;
  std::binary_semaphore over{0};
  bool was_given = true;
  worker_pool pool({.workers = 1, .max_threads = 1}, turn);
  one.does = [&] {
    was_given = pool.will_block();
    over.release();
    return turn_result::ended;
  };
  pool.schedule(one);
  over.acquire();
  EXPECT_FALSE(was_given);
}

TEST(a_turn_that_will_block, is_refused_while_all_other_threads_block) {
  job first;
  job second;
  std::binary_semaphore first_blocks{0};
  std::binary_semaphore first_goes_on{0};
  std::binary_semaphore first_is_done{0};
  std::binary_semaphore over{0};
  bool first_may = false;
  bool second_may = true;
  bool second_may_then = false;
  worker_pool pool({.workers = 2, .max_threads = 2}, turn);
  first.does = [&] {
    first_may = pool.will_block();
    first_blocks.release();
    first_goes_on.acquire();
    pool.has_blocked();
    first_is_done.release();
    return turn_result::ended;
  };
  second.does = [&] {
    second_may = pool.will_block();
    pool.has_blocked();
    first_goes_on.release();
    first_is_done.acquire();
    second_may_then = pool.will_block();
    pool.has_blocked();
    over.release();
    return turn_result::ended;
  };
  pool.schedule(first);
  first_blocks.acquire();
  pool.schedule(second);
  over.acquire();
  EXPECT_TRUE(first_may);
  EXPECT_FALSE(second_may);
  EXPECT_TRUE(second_may_then);
}

// Turns block at random while others wake each other: each runnable gets all its turns, on
// whichever thread.
TEST(stuck_worker, under_load_loses_no_runnable_and_runs_none_twice_at_once) {
  constexpr int count = 16;
  constexpr int rounds = 300;
  struct player : job {
    troupe::atomic<bool> runs{false};
    troupe::atomic<int> left{rounds};
    unsigned random = 0;
  };
  std::array<player, count> players;
  troupe::atomic<int> twice{0};
  std::counting_semaphore<count> over{0};
  worker_pool pool({.workers = 2, .blocking_threshold = 1ms}, turn);
  for (int i = 0; i < count; ++i) {
    player& me = players[static_cast<std::size_t>(i)];
    me.random = static_cast<unsigned>(i) + 1;
    me.does = [&me, &twice, &over, &pool] {
      if (me.runs.exchange(true)) ++twice;
      me.random = me.random * 1'664'525u + 1'013'904'223u;
      const unsigned choice = me.random >> 24;
      if (choice == 0) (void)pool.will_block();
      if (choice < 2) std::this_thread::sleep_for(3ms);  // blocking is what is tested
      me.runs.store(false);
      if (--me.left == 0) {
        over.release();
        return turn_result::ended;
      }
      return turn_result::again;
    };
    pool.schedule(me);
  }
  for (int i = 0; i < count; ++i) over.acquire();
  EXPECT_EQ(twice.load(), 0);
  EXPECT_GT(pool.threads().replacements, 0u);
}

}  // namespace
}  // namespace troupe::detail
