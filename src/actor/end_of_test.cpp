// SPDX-License-Identifier: Apache-2.0
// Handlers that wait for another actor's termination.
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "ask_test_support.hpp"
#include "test_support.hpp"

namespace troupe::test {
namespace {

using lines = std::vector<std::string>;

/// An actor whose handlers wait, and one that terminates as the test says; everything happens when
/// the test plays.
struct vigil {
  void begin(std::function<task<>(asker_actor&)> what) {
    who.send(work{std::move(what)});
    on.play();
  }

  journal log;
  stage on;
  ref<asker_actor> who = on.spawn<asker_actor>(log);
  ref<probe> other = on.spawn<probe>(log);
};

std::string text(const down& d) { return "ended: " + std::string(to_string(d.reason)) + d.what; }
std::string text(const std::optional<down>& d) { return d ? text(*d) : "not yet"; }

TEST(end_of, reports_how_the_actor_terminated) {
  vigil v;
  down got;
  v.begin([&](asker_actor& me) -> task<> {
    got = co_await end_of(v.other);
    me.log.write(text(got));
  });
  v.other.send(call{[](probe&) { throw std::runtime_error(" broken"); }});
  v.other.send(note{"never"});
  v.on.play();
  EXPECT_EQ(v.log.lines(), (lines{"destroyed", "ended: failed broken"}));
  EXPECT_EQ(got.who, v.other.address());
  EXPECT_EQ(got.unhandled, 1u);
  EXPECT_TRUE(got.monitor);
}

TEST(end_of, with_an_expired_timeout_returns_the_result_if_it_is_already_known) {
  vigil v;
  v.begin([&](asker_actor& me) -> task<> {
    me.log.write(text(co_await end_of(v.other, 0ms)));
    auto later = end_of(v.other, 1ms);
    v.other.stop();
    co_await sleep_for(5ms);  // the other one terminates, and the time is over
    me.log.write(text(co_await later));
    me.log.write(text(co_await end_of(v.other, 0ms)));
    me.log.write(text(co_await end_of(v.other, -1s)));
  });
  ASSERT_TRUE(eventually([&] { return v.on.play(), v.log.lines().size() >= 5; }));
  EXPECT_EQ(v.log.lines(),
            (lines{"not yet", "destroyed", "ended: stopped", "ended: stopped", "ended: stopped"}));
}

TEST(end_of, completes_after_all_messages_that_the_actor_had_sent) {
  vigil v;
  v.other = v.on.spawn<probe>(v.log, steps{.at_stop = [&](probe&) { v.who.send(note{"bye"}); }});
  v.begin([&](asker_actor& me) -> task<> { me.log.write(text(co_await end_of(v.other))); });
  v.other.stop();
  v.on.play();
  EXPECT_EQ(v.log.lines().back(), "ended: stopped");
  EXPECT_EQ(v.log.lines().end()[-2], "bye");
}

TEST(end_of, completes_if_the_actor_has_already_terminated) {
  vigil v;
  v.other.stop();
  v.on.play();
  v.begin([&](asker_actor& me) -> task<> {
    me.log.write(text(co_await end_of(v.other)));
    me.log.write(text(co_await end_of(v.other.address())));
    me.log.write(text(co_await end_of(v.other, patience)));
  });
  EXPECT_EQ(v.log.lines(),
            (lines{"destroyed", "ended: stopped", "ended: unknown", "ended: stopped"}));
}

TEST(end_of, lets_the_waiting_actor_handle_other_messages) {
  vigil v;
  v.begin(
      [&](asker_actor& me) -> task<> { me.log.write(text(co_await end_of(v.other.address()))); });
  v.who.send(note{"meanwhile"});
  v.on.play();
  v.other.stop();
  v.on.play();
  EXPECT_EQ(v.log.lines(), (lines{"meanwhile", "destroyed", "ended: stopped"}));
}

TEST(end_of, gives_up_after_its_timeout_and_never_completes_later) {
  vigil v;
  v.begin([&](asker_actor& me) -> task<> {
    auto ends = end_of(v.other, 1ms);
    me.log.write(text(co_await ends));
    (void)co_await channel<int>(1).next();  // anything that would wake it shows
    me.log.write("woken");
  });
  ASSERT_TRUE(eventually([&] {
    v.on.play();
    return !v.log.lines().empty();
  }));
  v.other.stop();
  v.on.play();
  EXPECT_EQ(v.log.lines(), (lines{"not yet", "destroyed"}));
}

TEST(end_of, completes_before_its_timeout) {
  vigil v;
  v.begin([&](asker_actor& me) -> task<> {
    me.log.write(text(co_await end_of(v.other, patience)));
    co_await sleep_for(2ms);  // it checks the time again
    me.log.write("later");
  });
  v.other.stop();
  ASSERT_TRUE(eventually([&] {
    v.on.play();
    return v.log.lines().size() == 3;
  }));
  EXPECT_EQ(v.log.lines(), (lines{"destroyed", "ended: stopped", "later"}));
}

TEST(end_of, resumes_nothing_if_the_actor_terminates_after_the_timeout) {
  vigil v;
  v.begin([&](asker_actor& me) -> task<> {
    me.log.write(text(co_await end_of(v.other, 1ms)));
    (void)co_await channel<int>(1).next();  // anything that would wake it shows
    me.log.write("woken");
  });
  ASSERT_TRUE(time_passes(v.on.system));
  v.other.stop();
  v.on.play();
  EXPECT_EQ(v.log.lines(), (lines{"not yet", "destroyed"}));
}

TEST(end_of, watches_from_the_call_on) {
  vigil v;
  v.begin([&](asker_actor& me) -> task<> {
    auto ends = end_of(v.other);
    (void)co_await sleep_for(1ms);
    me.log.write(text(co_await ends));
  });
  v.other.stop();
  v.on.play();
  v.other = {};
  ASSERT_TRUE(eventually([&] {
    v.on.play();
    return v.log.lines().size() == 2;
  }));
  EXPECT_EQ(v.log.lines().back(), "ended: stopped");
}

TEST(end_of, completes_in_the_handler_without_calling_on_down) {
  class both : public actor {
   public:
    explicit both(journal& log) : log_(log) {}
    task<> on(ref<probe> other) {
      watch(other);
      log_.write(text(co_await end_of(other)));
    }
    void on(const down&) { log_.write("on(down)"); }

   private:
    journal& log_;
  };
  vigil v;
  const auto who = v.on.spawn<both>(v.log);
  who.send(v.other);
  v.on.play();
  v.other.stop();
  v.on.play();
  EXPECT_EQ(v.log.lines(), (lines{"destroyed", "on(down)", "ended: stopped"}));
}

TEST(end_of, keeps_the_waiting_actor_alive_but_not_the_other_one) {
  vigil v;
  v.begin([&, other = v.other.address()](asker_actor& me) -> task<> {
    me.log.write(text(co_await end_of(other)));
  });
  v.who = {};
  v.on.play();
  EXPECT_EQ(v.log.lines(), lines{});
  v.other = {};
  v.on.play();
  EXPECT_EQ(v.log.lines(), (lines{"destroyed", "ended: unreachable", "destroyed"}));
}

TEST(end_of, is_cancelled_when_the_waiting_actor_terminates) {
  vigil v;
  v.begin([&](asker_actor& me) -> task<> { me.log.write(text(co_await end_of(v.other))); });
  v.who.stop();
  v.on.play();
  v.other.stop();
  v.on.play();
  EXPECT_EQ(v.log.lines(), (lines{"destroyed", "destroyed"}));
  EXPECT_TRUE(v.on.told.dead_letters().empty());
}

TEST(end_of, is_not_a_dead_letter_when_the_waiting_actor_terminates_as_well) {
  vigil v;
  v.begin([&](asker_actor& me) -> task<> { me.log.write(text(co_await end_of(v.other))); });
  v.other.stop_now();
  v.who.stop_now();
  v.on.play();
  EXPECT_EQ(v.log.lines(), (lines{"destroyed", "destroyed"}));
  EXPECT_TRUE(v.on.told.dead_letters().empty());
}

TEST(end_of, resumes_an_exclusive_handler) {
  vigil v;
  v.who.send(exclusive_work{
      [&](asker_actor& me) -> task<> { me.log.write(text(co_await end_of(v.other))); }});
  v.who.send(note{"after"});
  v.on.play();
  v.other.stop();
  v.on.play();
  EXPECT_EQ(v.log.lines(), (lines{"destroyed", "ended: stopped", "after"}));
}

TEST(end_of, serves_a_function_that_is_an_actor) {
  vigil v;
  const auto it = v.on.system.spawn<note>(
      spawn_options{.where = bound_to(v.on.pump)},
      [&](context&) -> task<> { v.log.write(text(co_await end_of(v.other))); });
  v.on.play();
  v.other.stop();
  v.on.play();
  EXPECT_EQ(v.log.lines(), (lines{"destroyed", "ended: stopped"}));
}

TEST(end_of, outside_of_a_handler_that_waits_is_refused) {
  vigil v;
  EXPECT_THROW((void)end_of(v.other), std::logic_error);
  v.other.send(call{[&](probe& me) {
    EXPECT_THROW((void)end_of(me.where(), 1ms), std::logic_error);
    me.stop();
  }});
  v.on.play();
}

// The waiting actors and those whose termination they wait for are stopped at the same time, in any
// order.
TEST(end_of_stress, ends_race_with_waiting_for_them) {
  struct wait_for {
    address who;
    atomic<int>* told;
  };
  class waiter : public actor {
   public:
    task<> on(wait_for m) {
      (void)co_await end_of(m.who, 50us);
      (void)co_await end_of(m.who);
      m.told->fetch_add(1, relaxed);
    }
  };
  class waited_for : public actor {
   public:
    void on(int) {}
  };
  std::mt19937 random(4711);
  system s{{.workers = 2}};
  for (int round = 0; round < (sanitized ? 200 : 1'000); ++round) {
    atomic<int> told{0};
    std::vector<ref<waiter>> those;
    std::vector<ref<waited_for>> others;
    for (int i = 0; i < 4; ++i) {
      those.push_back(s.spawn<waiter>());
      others.push_back(s.spawn<waited_for>());
    }
    for (const auto& each : those) {
      for (const auto& other : others) each.send(wait_for{other, &told});
    }
    const auto ends_early = random() % 5;
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (i == ends_early) those[i].stop_now();
      others[i].stop_now();
    }
    const int expected = ends_early < 4 ? 12 : 16;
    ASSERT_TRUE(eventually([&] { return told.load(relaxed) >= expected; }));
    for (const auto& each : those) each.stop();
    for (const auto& each : those) (void)each.join();
    ASSERT_LE(told.load(relaxed), 16);
  }
}

}  // namespace
}  // namespace troupe::test
