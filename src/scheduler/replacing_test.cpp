// SPDX-License-Identifier: Apache-2.0
// Handlers that last, and the threads that go on behind them.
#include <troupe/scheduler/worker_pool.hpp>

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
#include <troupe/sync/atomic.hpp>

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

/// What a pool has told.
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

/// A handler that blocks until it is let go.
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

TEST(stuck_worker, is_given_to_another_thread_with_what_its_turn_has_woken) {
  told tells;
  blocker slow;
  signal in_slot;
  signal in_ring;
  worker_pool pool({.workers = 1, .stuck_after = 2ms, .listener = &tells}, turn);
  const auto blocks = slow.does;
  slow.does = [&] {
    pool.schedule(in_ring);
    pool.schedule(in_slot);
    return blocks();
  };
  pool.schedule(slow);
  in_slot.done.acquire();
  in_ring.done.acquire();
  // On a machine that is slow enough one of the others lasts too long as well, afterwards.
  ASSERT_TRUE(tells.wait_until([](const told& t) { return !t.grew_.empty(); }));
  const stuck_turn first = tells.first_growth();
  EXPECT_EQ(first.whose, &slow);
  EXPECT_GE(first.lasted, 2ms);
  EXPECT_EQ(first.threads, 2u);
  EXPECT_GE(pool.threads().replacements, 1u);
  slow.go_on.release();
  slow.over.acquire();
}

TEST(stuck_worker, is_given_away_for_what_comes_from_outside) {
  blocker slow;
  signal from_outside;
  worker_pool pool({.workers = 1, .stuck_after = 2ms}, turn);
  pool.schedule(slow);
  slow.begun.acquire();
  pool.schedule(from_outside);
  from_outside.done.acquire();
  slow.go_on.release();
  slow.over.acquire();
}

TEST(stuck_worker, is_given_away_for_what_waits_behind_another_worker) {
  told tells;
  blocker slow;
  atomic<bool> is_over{false};
  std::array<job, 2> busy;  // in turns of one worker: one of them always waits in its ring
  std::counting_semaphore<2> ended{0};
  worker_pool pool({.workers = 2, .stuck_after = 2ms, .listener = &tells}, turn);
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

TEST(stuck_worker, stays_where_it_is_while_nobody_waits) {
  told tells;
  blocker slow;
  worker_pool pool({.workers = 1, .stuck_after = 1ms, .listener = &tells}, turn);
  pool.schedule(slow);
  slow.begun.acquire();
  const time_point until = clock::now() + 30ms;
  while (clock::now() < until) std::this_thread::yield();
  slow.go_on.release();
  slow.over.acquire();
  EXPECT_EQ(pool.threads().replacements, 0u);
}

TEST(stuck_worker, one_handler_after_the_other_blocks_and_all_others_go_on) {
  constexpr std::size_t count = 20;
  std::array<blocker, count> slow;
  worker_pool pool({.workers = 2, .stuck_after = 1ms}, turn);
  for (blocker& each : slow) pool.schedule(each);
  for (blocker& each : slow) each.begun.acquire();
  const worker_pool::population now = pool.threads();
  EXPECT_GE(now.threads, count);
  EXPECT_LE(now.threads, count + 2);
  for (blocker& each : slow) each.go_on.release();
  for (blocker& each : slow) each.over.acquire();
}

TEST(stuck_worker, has_no_other_thread_beyond_the_limit_and_goes_on_when_one_comes_back) {
  told tells;
  std::array<blocker, 3> slow;
  signal last;
  worker_pool pool({.workers = 1, .max_threads = 3, .stuck_after = 1ms, .listener = &tells}, turn);
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
  worker_pool pool({.workers = 1, .stuck_after = 1ms, .listener = &tells}, turn);
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

  // And another one where it has been.
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

TEST(stuck_worker, what_a_turn_wakes_after_it_has_lost_its_worker_gets_its_turn) {
  job slow;
  signal before;
  std::array<signal, 3> after;
  int turns = 0;  // outlives the second one
  worker_pool pool({.workers = 1, .stuck_after = 1ms}, turn);
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
  worker_pool pool(1, turn);  // nobody looks after it
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

TEST(a_turn_that_will_block, leaves_what_waits_to_other_workers_if_there_is_no_other_thread) {
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

TEST(stuck_worker, leaves_what_waits_to_other_workers_if_there_is_no_other_thread) {
  blocker slow;
  signal in_slot;
  signal in_ring;
  worker_pool pool({.workers = 2, .max_threads = 2, .stuck_after = 1ms}, turn);
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

  signal after;  // its own worker is in use again
  pool.schedule(after);
  after.done.acquire();
}

// Between two turns of it, somebody from outside comes.
TEST(a_runnable_that_is_never_done, goes_behind_what_waits_in_the_shared_queue) {
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

TEST(a_turn_that_will_block, is_told_if_there_is_no_other_thread) {
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

// Turns that block at random while others wake each other: each gets its turns, whoever gives them.
TEST(stuck_worker, under_load_nobody_is_lost_or_run_twice_at_once) {
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
  worker_pool pool({.workers = 2, .stuck_after = 1ms}, turn);
  for (int i = 0; i < count; ++i) {
    player& me = players[static_cast<std::size_t>(i)];
    me.random = static_cast<unsigned>(i) + 1;
    me.does = [&me, &twice, &over, &pool] {
      if (me.runs.exchange(true)) ++twice;
      me.random = me.random * 1'664'525u + 1'013'904'223u;
      const unsigned choice = me.random >> 24;
      if (choice == 0) (void)pool.will_block();
      if (choice < 2) std::this_thread::sleep_for(3ms);  // it blocks: that is what is tested
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
