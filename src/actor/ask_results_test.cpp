// SPDX-License-Identifier: Apache-2.0
// Requests without a reply, or whose requester no longer waits: their results, and no leftovers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "ask_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::Each;

TEST(ask, dropped_as_the_newest_it_is_refused) {
  stage on;
  const auto it = on.spawn<oracle>({.max_messages = 1, .on_full = overflow::drop_newest});
  auto first = it.ask<add>(patience, 1, 2);
  auto second = it.ask<add>(patience, 3, 4);
  EXPECT_EQ(second.get().error(), ask_error::refused);
  EXPECT_EQ(*first.get(), 3);
}

TEST(ask, dropped_as_the_oldest_it_is_refused) {
  stage on;
  const auto it = on.spawn<oracle>({.max_messages = 1, .on_full = overflow::drop_oldest});
  auto first = it.ask<add>(patience, 1, 2);
  auto second = it.ask<add>(patience, 3, 4);
  EXPECT_EQ(*second.get(), 7);
  EXPECT_EQ(first.get().error(), ask_error::refused);
}

TEST(ask, a_budget_refuses) {
  stage on;
  spawn_options options;
  options.memory_budget = budget{1};
  const auto it = on.spawn<oracle>(options);
  EXPECT_EQ(it.ask<add>(patience, 1, 2).get().error(), ask_error::refused);
}

class one_at_a_time : public actor {
 public:
  using message_limits = troupe::message_limits<at_most<add, 1>>;
  int on(add m) { return m.a + m.b; }
  bool on(who_asks) { return true; }
};

TEST(ask, the_limit_of_its_type_refuses) {
  stage on;
  const auto it = on.spawn<one_at_a_time>();
  auto first = it.ask<add>(patience, 1, 2);
  auto second = it.ask<add>(patience, 3, 4);
  auto of_another_type = it.ask<who_asks>(patience);
  EXPECT_EQ(second.get().error(), ask_error::refused);
  EXPECT_EQ(*first.get(), 3);
  EXPECT_TRUE(*of_another_type.get());
}

class breaks_down_later : public actor {
 public:
  task<int> on(add) {
    co_await sleep_for(1ms);
    throw std::runtime_error("broken");
  }
};

TEST(ask, an_exception_in_a_coroutine_handler_fails_actor_and_request) {
  recorder told;
  troupe::system system(told.options());
  const auto it = system.spawn<breaks_down_later>();
  EXPECT_EQ(it.ask<add>(patience, 1, 2).get().error(), ask_error::failed);
  EXPECT_EQ(it.join(), exit_reason::failed);
}

TEST(ask, a_callback_that_throws_fails_the_asking_actor) {
  journal log;
  recorder told;
  troupe::system system(told.options());
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<probe>(log);
  who.send(call{[it](probe&) {
    it.ask<add>(patience, 1, 2).then([](ask_result<int>) {
      throw std::runtime_error("in a callback");
    });
  }});
  EXPECT_EQ(who.join(), exit_reason::failed);
  ASSERT_EQ(told.failures().size(), 1u);
  EXPECT_EQ(told.failures()[0].what, "in a callback");
  EXPECT_EQ(*it.ask<add>(patience, 1, 2).get(), 3) << "who answered lives on";
}

TEST(ask, value_throws_an_exception_that_names_the_error) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  it.stop();
  it.join();
  auto got = it.ask<add>(patience, 1, 2).get();
  try {
    (void)got.value();
    FAIL() << "it has no value";
  } catch (const ask_failed& e) {
    EXPECT_EQ(e.error(), ask_error::stopped);
    EXPECT_STREQ(e.what(), "ask() failed: stopped");
  }
}

class passer : public actor {
 public:
  explicit passer(ref<oracle> to) : to_(std::move(to)) {}
  void on(who_asks, reply<int> owed) { to_.pass_on<add>(std::move(owed), 40, 2); }

 private:
  const ref<oracle> to_;
};

TEST(reply, passed_on_to_a_full_or_terminated_actor_fails_the_request) {
  stage on;
  const auto to = on.spawn<oracle>({.max_messages = 1, .on_full = overflow::refuse});
  to.send(answer_now{0});
  const auto it = on.system.spawn<passer>(to);
  auto refused = it.ask<who_asks>(patience);
  ASSERT_TRUE(eventually([&] { return on.system.statistics().messages_refused == 1; }));
  EXPECT_EQ(refused.get().error(), ask_error::refused);
  to.stop();
  on.play();
  EXPECT_EQ(it.ask<who_asks>(patience).get().error(), ask_error::stopped);
}

// ── Abandoned requests ──────────────────────────────────────────────────────────────────────────

struct in_questions {};
struct large_answer {
  std::array<char, 400> bytes{};
  counted<in_questions> alive{};
};
struct ask_for_much {
  std::array<char, 400> bytes{};
  counted<in_questions> alive{};
};
class generous : public actor {
 public:
  large_answer on(const ask_for_much&) { return {}; }
};

constexpr int many = sanitized ? 500 : 10'000;
constexpr std::size_t little = 600'000;

TEST(ask, one_that_a_coroutine_lets_go_of_is_late_and_its_memory_is_back) {
  journal log;
  stage on;
  const auto it = on.spawn<generous>();
  const auto who = on.spawn<asker_actor>(log);
  std::uint64_t late = 0;
  // The timers' thread wakes the asking actor now and then: the pump may not see yet what that
  // thread has begun.
  const auto once = [&] {
    who.send(work{[it](asker_actor&) -> task<> {
      { const auto gone = it.ask<ask_for_much>(patience); }
      co_return;
    }});
    ++late;
    return eventually([&] {
      on.play();
      return on.system.statistics().answers_late == late;
    });
  };
  ASSERT_TRUE(once());
  EXPECT_EQ(counted<in_questions>::alive(), 0);
  const std::size_t before = pool_used().resident;
  for (int i = 0; i < many; ++i) ASSERT_TRUE(once());
  EXPECT_EQ(counted<in_questions>::alive(), 0);
  EXPECT_LE(pool_used().resident, before + little);
}

// A request needs one place in a table and its block: both are reused at once.
TEST(ask, a_request_that_is_destroyed_counts_as_late_and_leaves_nothing) {
  constexpr int times = sanitized ? 10'000 : 100'000;
  talk t;
  t.begin([&](asker_actor& me) -> task<> {
    { const auto let_go = t.silent.ask<add>(patience, 1, 2); }
    for (int i = 0; i < 100; ++i) {
      const auto let_go = t.it.ask<add>(patience, i, 2);
    }
    const auto first = co_await t.it.ask<add>(patience, 2, 3);
    me.log.write(std::to_string(*first));
  });
  ASSERT_TRUE(t.log.wait_for(1));
  EXPECT_EQ(t.log.lines().front(), "5") << "no answer of the others";
  ASSERT_TRUE(eventually([&] { return t.on.system.statistics().answers_late >= 100; }));
  t.on.play();
  EXPECT_TRUE(eventually([&] { return t.on.system.statistics().answers_late == 101; }));
  const std::size_t before = pool_used().resident;
  for (int round = 1; round <= times / 100; ++round) {
    t.begin([&](asker_actor& me) -> task<> {
      for (int i = 0; i < 100; ++i) {
        const auto let_go = t.it.ask<add>(patience, i, 2);
      }
      (void)co_await t.it.ask<add>(patience, 2, 3);
      me.log.write("round");
    });
    ASSERT_TRUE(t.log.wait_for(1 + static_cast<std::size_t>(round)));
  }
  EXPECT_TRUE(eventually([&] { return t.on.system.statistics().answers_late == 101 + times; }));
  EXPECT_LE(pool_used().resident, before + 500'000) << "all of them would be 6 MB";
}

TEST(ask, a_request_whose_actor_is_stopped_leaves_nothing_behind) {
  stage on;
  journal log;
  const auto it = on.spawn<generous>();
  std::size_t before = 0;
  for (int i = 0; i < many; ++i) {
    const auto who = on.spawn<asker_actor>(log);
    bool asked = false;
    who.send(work{[it, &asked](asker_actor& me) -> task<> {
      auto question = it.ask<ask_for_much>(patience);
      asked = true;
      (void)co_await std::move(question);
      me.log.write("never");
    }});
    who.stop();
    on.play();
    ASSERT_TRUE(asked);
    ASSERT_EQ(counted<in_questions>::alive(), 0);
    if (i == many / 10) before = pool_used().resident;
  }
  EXPECT_THAT(log.lines(), Each("destroyed"));
  EXPECT_LE(pool_used().resident, before + little);
}

}  // namespace
}  // namespace troupe::test
