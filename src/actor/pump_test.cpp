// SPDX-License-Identifier: Apache-2.0
// Actors bound to a thread that pumps them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(pump, runs_all_turns_on_its_own_thread) {
  class local : public actor {
   public:
    ~local() { check(); }
    void on_start() { check(); }
    void on_stop() { check(); }
    void on(int) { check(); }

   private:
    void check() const { EXPECT_EQ(std::this_thread::get_id(), pumps_); }
    const std::thread::id pumps_ = std::this_thread::get_id();
  };
  stage s;
  const auto a = s.spawn<local>();
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) a.send(int{i});
    a.stop();
  });
  EXPECT_EQ(a.join(), exit_reason::stopped);
  other.join();
}

TEST(pump, handles_nothing_until_it_is_pumped) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.send(note{"1"});
  EXPECT_THAT(log.lines(), IsEmpty());
  EXPECT_EQ(s.pump.drain(), 1u);
  EXPECT_THAT(log.lines(), ElementsAre("1"));
}

TEST(pump, drain_handles_all_waiting_messages_and_returns_their_number) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  const auto b = s.spawn<probe>(log);
  s.play();
  EXPECT_EQ(s.pump.drain(), 0u);
  constexpr std::size_t many = 1'000;
  for (std::size_t i = 0; i < many; ++i) a.send(note{"a"});
  b.send(note{"b"});
  EXPECT_EQ(s.pump.drain(), many + 1);
  EXPECT_THAT(log.lines(), SizeIs(many + 1));
  EXPECT_EQ(s.pump.drain(), 0u);
}

TEST(pump, drain_does_not_handle_messages_that_an_actor_sends_to_itself) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  s.play();
  a.send(call{[](probe& me) { me.me().send(note{"later"}); }});
  a.send(note{"now"});
  s.pump.drain();
  EXPECT_THAT(log.lines(), ElementsAre("now"));
  s.pump.drain();
  EXPECT_THAT(log.lines(), ElementsAre("now", "later"));
}

TEST(pump, drain_does_not_handle_messages_that_a_handler_sends_to_others) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  const auto idle = s.spawn<probe>(log);
  const auto busy = s.spawn<probe>(log);
  s.play();
  a.send(call{[&](probe&) {
    idle.send(note{"later, to an idle one"});
    busy.send(note{"later, to one that has work"});
  }});
  busy.send(note{"now"});
  s.pump.drain();
  EXPECT_THAT(log.lines(), ElementsAre("now"));
  s.pump.drain();
  EXPECT_THAT(log.lines(), SizeIs(3));
}

TEST(pump, drain_at_most_handles_so_many_and_no_more) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  s.play();
  for (int i = 0; i < 500; ++i) a.send(note{"message"});
  EXPECT_EQ(s.pump.drain_at_most(0), 0u);
  EXPECT_EQ(s.pump.drain_at_most(1), 1u);
  EXPECT_EQ(s.pump.drain_at_most(100), 100u);
  EXPECT_THAT(log.lines(), SizeIs(101));
  EXPECT_EQ(s.pump.drain(), 399u);
}

TEST(pump, drain_at_most_begins_with_actors_that_have_not_been_scheduled) {
  journal log;
  stage s;
  std::vector<ref<probe>> all;
  for (int i = 0; i < 3; ++i) all.push_back(s.spawn<probe>(log));
  s.play();
  for (int i = 0; i < 3; ++i) {
    for (int n = 0; n < 2; ++n) all[static_cast<std::size_t>(i)].send(note{std::to_string(i)});
  }
  for (int i = 0; i < 6; ++i) EXPECT_EQ(s.pump.drain_at_most(1), 1u);
  EXPECT_THAT(log.lines(), ElementsAre("0", "1", "2", "0", "1", "2"));
}

TEST(pump, drain_at_most_counts_a_start_as_a_message) {
  journal log;
  stage s;
  std::vector<ref<probe>> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(s.spawn<probe>(log, steps{.at_start = [&](probe&) { log.write("started"); }}));
  }
  EXPECT_EQ(s.pump.drain_at_most(4), 0u);
  EXPECT_THAT(log.lines(), SizeIs(4));
  s.play();
  EXPECT_THAT(log.lines(), SizeIs(10));
}

TEST(pump, drain_at_most_ends_though_an_actor_keeps_itself_busy) {
  class spinner : public actor {
   public:
    void on(int n) { self(this).send(n + 1); }
  };
  stage s;
  const auto a = s.spawn<spinner>();
  a.send(0);
  EXPECT_EQ(s.pump.drain_at_most(1'000), 128u) << "one turn; then the others";
  a.stop_now();
}

TEST(pump, run_until_idle_handles_messages_that_handlers_send) {
  class countdown : public actor {
   public:
    void on(int n) {
      if (n > 0) self(this).send(n - 1);
    }
  };
  stage s;
  const auto a = s.spawn<countdown>();
  a.send(1'000);
  EXPECT_EQ(s.pump.run_until_idle(), 1'001u);
  EXPECT_EQ(s.pump.run_until_idle(), 0u);
}

TEST(pump, run_until_stopped_sleeps_and_wakes_until_every_bound_actor_has_ended) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  const auto b = s.spawn<probe>(log);
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) a.send(note{"message"});
    ASSERT_TRUE(log.wait_for(100));
    b.stop();
    ASSERT_TRUE(log.wait_for(101));
    a.send_after(1ms, call{[](probe& me) { me.stop(); }});
  });
  s.pump.run_until_stopped();
  EXPECT_THAT(log.lines(), SizeIs(102));
  other.join();
}

TEST(pump, run_until_stopped_returns_at_once_without_bound_actors) {
  stage s;
  s.pump.run_until_stopped();
}

TEST(pump, run_until_stopped_returns_when_unreferenced_actors_terminate) {
  journal log;
  stage s;
  s.spawn<probe>(log).send(note{"1"});
  s.pump.run_until_stopped();
  EXPECT_THAT(log.lines(), ElementsAre("1", "destroyed"));
}

TEST(pump, an_idle_bound_actor_is_stopped_and_joined_like_others) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  const auto b = s.spawn<probe>(log);
  s.play();
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  b.stop_now();
  EXPECT_EQ(b.join(), exit_reason::stopped_now);
}

TEST(pump, a_bound_actor_may_be_joined_by_another_thread_while_it_is_pumped) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  std::thread other([&] {
    a.stop();
    EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
  });
  s.pump.run_until_stopped();
  other.join();
}

TEST(pump, bound_actors_may_be_spawned_inside_a_pumped_handler) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  ref<probe> child;
  a.send(call{[&](probe&) {
    for (int i = 0; i < 100; ++i) s.spawn<probe>(log);
    child = s.spawn<probe>(log);
    child.send(note{"child"});
    EXPECT_THAT(log.lines(), IsEmpty()) << "its turns come later, not inside";
  }});
  s.play();
  EXPECT_THAT(log.lines(), SizeIs(101));
  EXPECT_TRUE(child);
}

TEST(pump, bound_actors_may_be_stopped_inside_a_pumped_handler) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  auto b = s.spawn<probe>(log);
  const auto c = s.spawn<probe>(log);
  auto d = s.spawn<probe>(log);
  s.play();
  a.send(call{[&](probe& me) {
    b.stop();
    c.stop_now();
    d = {};
    me.stop();
    EXPECT_THAT(log.lines(), IsEmpty()) << "their ends are turns of their own";
  }});
  b.send(note{"before"});
  s.play();
  EXPECT_THAT(log.lines(), SizeIs(5));
  EXPECT_EQ(s.system.statistics().actors_alive, 0u);
}

TEST(pump, a_bound_actor_may_send_to_itself_in_its_destructor) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log, steps{.at_end = [](probe& me) {
                                  EXPECT_EQ(me.me().send(note{"never"}), delivery::accepted);
                                  me.me().stop();
                                }});
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
  EXPECT_THAT(s.told.dead_letters(), SizeIs(1));
}

TEST(pump, pumped_by_another_thread_is_a_logic_error) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  std::thread([&] {
    EXPECT_THROW(s.pump.drain(), std::logic_error);
    EXPECT_THROW(s.pump.run_until_idle(), std::logic_error);
    EXPECT_THROW(s.pump.run_until_stopped(), std::logic_error);
  }).join();
  EXPECT_EQ(a.send(note{"1"}), delivery::accepted);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("1"));
}

TEST(pump, pumped_inside_a_handler_is_a_logic_error) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.send(call{[&](probe&) {
    EXPECT_THROW(s.pump.drain(), std::logic_error);
    EXPECT_THROW(s.pump.run_until_idle(), std::logic_error);
    EXPECT_THROW(s.pump.run_until_stopped(), std::logic_error);
  }});
  s.play();
  EXPECT_THAT(s.told.failures(), IsEmpty());
}

TEST(pump, is_the_only_one_of_its_thread) {
  stage s;
  EXPECT_THROW(pump second{s.system}, std::logic_error);
  std::thread([&] { pump fine{s.system}; }).join();
}

TEST(pump, that_is_destroyed_ends_its_actors_as_stop_now_does) {
  journal log;
  recorder told;
  system s{told.options()};
  const auto w = s.spawn<probe>(log);
  ref<probe> a;
  {
    pump p{s};
    a = s.spawn<probe>(spawn_options{.where = bound_to(p)}, log);
    a.send(note{"never"});
  }
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
  EXPECT_THAT(told.dead_letters(), SizeIs(1));
}

TEST(pump, after_another_on_the_same_thread_works) {
  journal log;
  system s{{.workers = 1}};
  for (int i = 0; i < 3; ++i) {
    pump p{s};
    const auto a = s.spawn<probe>(spawn_options{.where = bound_to(p)}, log);
    a.stop();
    EXPECT_EQ(a.join(), exit_reason::stopped);
  }
}

}  // namespace
}  // namespace troupe::test
