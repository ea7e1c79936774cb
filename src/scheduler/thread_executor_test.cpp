// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include <troupe/detail/scheduler/thread_executor.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/thread.hpp>

#include "task_for_tests.hpp"

namespace troupe::detail {
namespace {

TEST(thread_executor, terminates_if_retired_before_its_first_turn) {
  thread_executor own(task::turn);
  task one(own);
  own.start(one, "test");
  EXPECT_FALSE(own.finished());
  own.retire(one);
}

TEST(thread_executor, runs_all_turns_on_one_thread_of_its_own) {
  thread_executor own(task::turn);
  EXPECT_TRUE(own.may_block());
  parker main;
  std::vector<std::thread::id> seen;
  task one(own, [&] {
    seen.push_back(std::this_thread::get_id());
    if (seen.size() == 3) one.end();
    main.notify();
  });
  own.start(one, "test");
  for (int i = 0; i < 3; ++i) {
    one.poke();
    main.park();
  }
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_NE(seen[0], std::this_thread::get_id());
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST(thread_executor, is_finished_after_the_last_turn) {
  thread_executor own(task::turn);
  bool last_turn = false;  // not atomic: finished() orders it
  task one(own, [&] {
    last_turn = true;
    one.end();
  });
  own.start(one, "test");
  one.poke();
  while (!own.finished()) std::this_thread::yield();
  EXPECT_TRUE(last_turn);
  EXPECT_EQ(own.done().turns.value(), 1u);
}

TEST(thread_executor, one_to_one) {
  constexpr int rounds = 10'000;
  thread_executor own(task::turn);
  parker main;
  int ball = 0;  // not atomic: each poke passes it on
  task one(own, [&] {
    if (++ball == 2 * rounds) one.end();
    main.notify();
  });
  own.start(one, "test");
  for (int i = 0; i < rounds; ++i) {
    ++ball;
    one.poke();
    main.park();
  }
  EXPECT_EQ(ball, 2 * rounds);
}

TEST(thread_executor, many_to_one) {
  constexpr int threads = 4;
  constexpr int pokes = 20'000;
  thread_executor own(task::turn);
  int turns = 0;
  task one(own, [&] {
    if (++turns == threads * pokes) one.end();
  });
  own.start(one, "test");
  std::vector<jthread> foreign;
  for (int t = 0; t < threads; ++t) {
    foreign.emplace_back([&] {
      for (int i = 0; i < pokes; ++i) one.poke();
    });
  }
  while (!own.finished()) std::this_thread::yield();
}

// The scheduling thread may not have returned from schedule() yet.
TEST(thread_executor, may_be_destroyed_when_it_is_finished) {
  for (int round = 0; round < 300; ++round) {
    auto own = std::make_unique<thread_executor>(task::turn);
    task one(*own, [&] { one.end(); });
    own->start(one, "test");
    const jthread scheduling([&] { one.poke(); });
    while (!own->finished()) std::this_thread::yield();
    own.reset();
  }
}

}  // namespace
}  // namespace troupe::detail
