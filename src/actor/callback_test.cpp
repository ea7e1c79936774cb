// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/callback.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "ask_test_support.hpp"
#include "no_memory_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A library whose operations the test completes.
struct library {
  void read(std::function<void(int)> done) { reads.push_back(std::move(done)); }
  std::vector<std::function<void(int)>> reads;
};

std::string described(const ask_result<int>& got) {
  return got ? std::to_string(*got) : got.message();
}

TEST(callback, gives_the_result_to_a_suspended_handler) {
  journal log;
  stage s;
  library files;
  const auto who = s.spawn<asker_actor>(log);
  who.send(work{[&](asker_actor& me) -> task<> {
    const auto got = co_await callback<int>(
        patience, [&](completion<int> done) { files.read([done](int n) { done(n); }); });
    me.log.write(described(got));
  }});
  who.send(note{"meanwhile"});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("meanwhile"));
  files.reads.front()(7);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("meanwhile", "7"));
}

TEST(callback, may_be_completed_before_the_handler_waits) {
  journal log;
  stage s;
  const auto who = s.spawn<asker_actor>(log);
  who.send(work{[](asker_actor& me) -> task<> {
    const auto got = co_await callback<int>(patience, [](const completion<int>& done) { done(3); });
    me.log.write(described(got));
  }});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("3"));
}

TEST(callback, is_completed_by_other_threads_of_which_one_wins) {
  talk t;
  constexpr int rounds = 200;
  t.begin([&](asker_actor& me) -> task<> {
    for (int i = 0; i < rounds; ++i) {
      atomic<int> wins{0};
      std::vector<std::thread> those;
      const auto got = co_await callback<int>(patience, [&](completion<int> done) {
        for (int n = 0; n < 3; ++n) {
          those.emplace_back([done, n, &wins] { wins.fetch_add(done(n) ? 1 : 0); });
        }
      });
      for (auto& each : those) each.join();
      if (!got || *got < 0 || *got > 2 || wins.load() != 1) me.log.write("wrong");
    }
    me.log.write("done");
  });
  ASSERT_TRUE(t.log.wait_for(1));
  EXPECT_THAT(t.log.lines(), ElementsAre("done"));
}

TEST(callback, keeps_an_exclusive_handler_exclusive) {
  journal log;
  stage s;
  std::optional<completion<int>> pending;
  const auto who = s.spawn<asker_actor>(log);
  who.send(exclusive_work{[&](asker_actor& me) -> task<> {
    const auto got =
        co_await callback<int>(patience, [&](completion<int> done) { pending = std::move(done); });
    me.log.write(described(got));
  }});
  who.send(note{"after"});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre());
  EXPECT_TRUE((*pending)(1));
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("1", "after"));
  EXPECT_FALSE((*pending)(2));
}

TEST(callback, destroyed_or_failed_gives_an_error) {
  journal log;
  stage s;
  std::optional<completion<int>> pending;
  const auto who = s.spawn<asker_actor>(log);
  who.send(work{[&](asker_actor& me) -> task<> {
    const auto start = [&](completion<int> done) { pending = std::move(done); };
    const auto one = co_await callback<int>(patience, start);
    me.log.write(described(one));
    const auto two = co_await callback<int>(patience, start);
    me.log.write(described(two));
  }});
  s.play();
  {
    const completion<int> copy = *pending;
    pending.reset();
    s.play();
    EXPECT_THAT(log.lines(), ElementsAre()) << "a copy is left";
  }
  s.play();
  EXPECT_TRUE(pending->fail());
  EXPECT_FALSE(pending->fail());
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("unanswered", "failed"));
}

TEST(callback, times_out_and_a_late_result_is_counted_and_destroyed) {
  struct late {};
  journal log;
  stage s;
  std::optional<completion<counted<late>>> pending;
  const auto who = s.spawn<asker_actor>(log);
  who.send(work{[&](asker_actor& me) -> task<> {
    const auto got = co_await callback<counted<late>>(
        1ms, [&](completion<counted<late>> done) { pending = std::move(done); });
    me.log.write(got.message());
  }});
  ASSERT_TRUE(eventually([&] {
    s.pump.drain();
    return log.lines().size() == 1;
  }));
  EXPECT_THAT(log.lines(), ElementsAre("timeout"));
  EXPECT_TRUE((*pending)(counted<late>{})) << "it cannot know";
  s.play();
  EXPECT_EQ(s.system.statistics().answers_late, 1u);
  EXPECT_EQ(counted<late>::alive(), 0);
}

TEST(callback, completed_after_its_actor_has_stopped_touches_nothing) {
  journal log;
  std::optional<completion<std::string>> pending;
  {
    stage s;
    const auto who = s.spawn<asker_actor>(log);
    who.send(work{[&](asker_actor& me) -> task<> {
      const auto got = co_await callback<std::string>(
          patience, [&](completion<std::string> done) { pending = std::move(done); });
      me.log.write("resumed");
    }});
    s.play();
    who.stop_now();
    s.play();
    EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
    const completion<std::string> copy = *pending;
    EXPECT_TRUE(copy(std::string(100, 'x')));
    EXPECT_FALSE((*pending)("again"));
    pending.reset();
    const auto next = s.spawn<asker_actor>(log);
    next.send(work{[&](asker_actor&) -> task<> {
      const auto got = co_await callback<std::string>(
          patience, [&](completion<std::string> done) { pending = std::move(done); });
      (void)got;
    }});
    s.play();
  }
  EXPECT_TRUE((*pending)(std::string(100, 'y'))) << "nor after the system";
}

TEST(callback, keeps_its_actor_alive) {
  journal log;
  stage s;
  std::optional<completion<int>> pending;
  {
    const auto who = s.spawn<asker_actor>(log);
    who.send(work{[&](asker_actor& me) -> task<> {
      const auto got = co_await callback<int>(
          patience, [&](completion<int> done) { pending = std::move(done); });
      me.log.write(described(got));
    }});
  }
  s.play();
  (*pending)(5);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("5", "destroyed"));
}

TEST(callback, is_continued_and_waited_for_in_other_handlers) {
  class reader : public actor {
   public:
    explicit reader(journal& log) : log_(log) {}
    void on(note) {
      callback<int>(patience, [](const completion<int>& done) {
        done(1);
      }).then([this](ask_result<int> got) { log_.write(described(got)); });
      std::thread other;
      auto waits = callback<int>(patience, [&](completion<int> done) {
        other = std::thread([done = std::move(done)] { done(2); });
      });
      log_.write(described(waits.get()));
      other.join();
    }

   private:
    journal& log_;
  };
  journal log;
  recorder told;
  troupe::system system(told.options());
  system.spawn<reader>(log).send(note{});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_THAT(log.lines(), ElementsAre("2", "1"));
}

TEST(callback, then_is_called_with_stopped_if_the_actor_stops) {
  class reader : public actor {
   public:
    reader(journal& log, std::optional<completion<int>>& pending) : log_(log), pending_(pending) {}
    void on(note) {
      callback<int>(patience, [&](completion<int> done) {
        pending_ = std::move(done);
      }).then([this](ask_result<int> got) { log_.write(described(got)); });
    }

   private:
    journal& log_;
    std::optional<completion<int>>& pending_;
  };
  journal log;
  std::optional<completion<int>> pending;
  stage s;
  const auto who = s.spawn<reader>(log, pending);
  who.send(note{});
  who.stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("stopped"));
  EXPECT_TRUE((*pending)(1));
}

TEST(callback, together_with_requests_is_awaited_by_all_and_any) {
  talk t;
  t.begin([&](asker_actor& me) -> task<> {
    auto [one, two] = co_await all(
        patience, callback<int>(no_timeout, [](const completion<int>& done) { done(1); }),
        t.it.ask<add>(no_timeout, 1, 1));
    me.log.write(described(one) + described(two));
    const auto first =
        co_await any(patience, t.silent.ask<add>(no_timeout, 1, 1),
                     callback<int>(no_timeout, [](const completion<int>& done) { done(9); }));
    me.log.write(std::to_string(first.which) + described(first.result));
  });
  ASSERT_TRUE(t.log.wait_for(2));
  EXPECT_THAT(t.log.lines(), ElementsAre("12", "19"));
}

TEST(callback, an_exception_of_the_start_leaves_nothing_behind) {
  journal log;
  stage s;
  const auto who = s.spawn<asker_actor>(log);
  who.send(work{[](asker_actor& me) -> task<> {
    try {
      (void)co_await callback<int>(
          patience, [](const completion<int>&) { throw std::runtime_error("no device"); });
    } catch (const std::runtime_error& e) {
      me.log.write(e.what());
    }
  }});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("no device"));
  EXPECT_EQ(s.system.statistics().messages_waiting, 0u);
}

TEST(callback, outside_of_a_handler_throws_an_exception_that_says_so) {
  try {
    (void)callback<int>(1s, [](const completion<int>&) {});
    FAIL() << "it did not throw";
  } catch (const std::logic_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("troupe::callback() outside of a handler"));
  }
}

TEST(callback, a_failed_allocation_leaves_no_wait_behind) {
  journal log;
  stage s;
  bool done = false;
  for (std::uint64_t which = 1; !done; ++which) {
    auto who = s.spawn<asker_actor>(log);
    who.send(work{[&](asker_actor&) -> task<> {
      const failing_allocation memory(which);
      try {
        const auto waits = callback<int>(1h, [](const completion<int>&) {});
      } catch (const std::bad_alloc&) {
      }
      done = !failing_allocation::has_failed();
      co_return;
    }});
    s.play();
    who = {};
    s.play();
    EXPECT_EQ(s.system.statistics().actors_alive, 0u)
        << "after the failure of allocation " << which;
  }
}

// Two handlers that wait for completions form no wait cycle, whatever their messages do.
TEST(callback, in_an_exclusive_handler_that_times_out_names_no_cycle) {
  journal log;
  stage s;
  std::optional<completion<int>> pending;
  const auto who = s.spawn<asker_actor>(log);
  who.send(exclusive_work{[&](asker_actor& me) -> task<> {
    const auto got =
        co_await callback<int>(1ms, [&](completion<int> done) { pending = std::move(done); });
    me.log.write(described(got));
  }});
  ASSERT_TRUE(eventually([&] {
    s.pump.drain();
    return log.lines().size() == 1;
  }));
  EXPECT_THAT(log.lines(), ElementsAre("timeout"));
}

}  // namespace
}  // namespace troupe::test
