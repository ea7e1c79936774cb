// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include <troupe/detail/scheduler/pump_executor.hpp>
#include <troupe/detail/sync/thread.hpp>

#include "task_for_tests.hpp"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

struct pump final : pump_executor {
  // Runs one turn of each runnable that is scheduled now.
  void drain() {
    runnable_list now = take();
    while (runnable* const r = now.pop()) {
      if (task::turn(*r, done()) == turn_result::again) schedule(*r);
    }
  }
};

TEST(pump_executor, empty) {
  pump p;
  EXPECT_TRUE(p.empty());
  EXPECT_TRUE(p.take().empty());
  EXPECT_FALSE(p.may_block());
  EXPECT_FALSE(p.wait_until(clock::now() - 1s));
}

TEST(pump_executor, order) {
  pump p;
  std::vector<int> order;
  std::deque<task> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(p, [&, i] { order.push_back(i); });
  for (task& each : all) each.poke();
  EXPECT_FALSE(p.empty());
  p.drain();
  EXPECT_TRUE(p.empty());
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(p.done().turns.value(), 5u);
}

TEST(pump_executor, runnables_that_are_put_back_run_first) {
  pump p;
  std::vector<int> order;
  std::deque<task> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(p, [&, i] { order.push_back(i); });
  for (int i = 0; i < 3; ++i) all[static_cast<std::size_t>(i)].poke();
  runnable_list now = p.take();
  EXPECT_EQ(task::turn(*now.pop(), p.done()), turn_result::resting);
  all[3].poke();
  p.put_back(now);
  all[4].poke();
  p.drain();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
  p.put_back({});
  EXPECT_TRUE(p.empty());
}

TEST(pump_executor, putting_runnables_back_wakes_an_idle_pump) {
  pump p;
  int calls = 0;
  p.on_wakeup([&] { ++calls; });
  task first(p);
  task second(p);
  first.poke();
  p.put_back(p.take());
  EXPECT_EQ(calls, 2);
  runnable_list now = p.take();
  second.poke();
  EXPECT_EQ(calls, 3);
  p.put_back(now);
  EXPECT_EQ(calls, 3) << "it was told of the second one";
  p.put_back({});
  EXPECT_EQ(calls, 3);
  p.drain();
  p.put_back({});
  EXPECT_EQ(calls, 3) << "nothing was put back";
}

TEST(pump_executor, work_scheduled_after_take_goes_to_a_new_list) {
  pump p;
  task second(p);
  task first(p, [&] { second.poke(); });
  first.poke();
  p.drain();
  EXPECT_EQ(first.done, 1);
  EXPECT_EQ(second.done, 0);
  EXPECT_FALSE(p.empty());
  p.drain();
  EXPECT_EQ(second.done, 1);
}

TEST(pump_executor, calls_back_when_it_receives_work_while_empty) {
  pump p;
  int called = 0;
  p.on_wakeup([&] { ++called; });
  EXPECT_EQ(called, 0);
  task one(p);
  task other(p);
  one.poke();
  EXPECT_EQ(called, 1);
  other.poke();
  one.poke();
  EXPECT_EQ(called, 1) << "it knows already";
  p.drain();
  EXPECT_EQ(called, 2) << "one of them had more to do";
  p.drain();
  other.poke();
  EXPECT_EQ(called, 3);
  p.drain();
}

TEST(pump_executor, calls_back_at_once_if_there_is_already_work) {
  pump p;
  task one(p);
  one.poke();
  int called = 0;
  p.on_wakeup([&] { ++called; });
  EXPECT_EQ(called, 1);
  p.drain();
}

// The captures of a callback may be destroyed as soon as it has been replaced.
TEST(pump_executor, a_callback_that_was_replaced_is_not_running) {
  pump p;
  task one(p);
  for (int round = 0; round < 20; ++round) {
    atomic<bool> begun{false};
    atomic<bool> over{false};
    p.on_wakeup([&] {
      begun = true;
      for (int i = 0; i < 100; ++i) std::this_thread::yield();  // on_wakeup({}) is called meanwhile
      over = true;
    });
    jthread poking([&] { one.poke(); });
    while (!begun) std::this_thread::yield();
    p.on_wakeup({});
    EXPECT_TRUE(over);
    poking.join();
    p.drain();
  }
}

TEST(pump_executor, a_callback_that_was_replaced_is_not_called) {
  pump p;
  atomic<bool> stop{false};
  task one(p);
  jthread poking([&] {
    // [stop] relaxed: the thread ends eventually.
    while (!stop.load(relaxed)) one.poke();
  });
  const auto drain_some = [&] {
    while (p.empty()) std::this_thread::yield();
    p.drain();
  };
  for (int round = 0; round < 500; ++round) {
    atomic<int> calls{0};
    p.on_wakeup([&] { ++calls; });
    while (calls == 0) drain_some();
    p.on_wakeup({});
    const int so_far = calls;
    // The second call finds runnables that were scheduled after the first, for which a callback
    // would have been called.
    drain_some();
    drain_some();
    EXPECT_EQ(calls, so_far);
    if (testing::Test::HasFailure()) break;
  }
  p.on_wakeup({});
  stop.store(true, relaxed);  // [stop]
  poking.join();
  while (!p.empty()) p.drain();
}

TEST(pump_executor, a_wake_before_wait_is_not_lost) {
  pump p;
  p.wake();
  p.wait();
  task one(p);
  one.poke();
  EXPECT_TRUE(p.wait_until(clock::now() - 1s));
  p.drain();
}

TEST(pump_executor, many_to_one) {
  constexpr int threads = 4;
  constexpr int pokes = 10'000;
  pump p;
  std::vector<jthread> foreign;
  std::deque<task> all;
  for (int t = 0; t < threads; ++t) all.emplace_back(p);
  int turns = 0;
  for (task& each : all) {
    each.work = [&] { ++turns; };
    foreign.emplace_back([&] {
      for (int i = 0; i < pokes; ++i) each.poke();
    });
  }
  // Returns only if no wake-up is lost.
  while (turns < threads * pokes) {
    while (!p.empty()) p.drain();
    if (turns < threads * pokes) p.wait();
  }
}

// The scheduling thread may not have returned from schedule() yet.
TEST(pump_executor, may_be_destroyed_after_the_last_turn) {
  for (int round = 0; round < 300; ++round) {
    auto p = std::make_unique<pump>();
    task one(*p);
    const jthread scheduling([&] { one.poke(); });
    while (one.done == 0) {
      p->drain();
      std::this_thread::yield();
    }
    p.reset();
  }
}

}  // namespace
}  // namespace troupe::detail
