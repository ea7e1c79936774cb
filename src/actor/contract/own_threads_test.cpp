// SPDX-License-Identifier: Apache-2.0
// Actors with a thread of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <set>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const spawn_options alone{.where = own_thread};

TEST(own_thread, runs_all_turns_of_one_actor_and_of_no_other) {
  journal log;
  system s{{.workers = 1}};
  std::array<std::set<std::thread::id>, 3> seen;
  std::vector<ref<probe>> all;
  for (auto& mine : seen) {
    const auto here = [&mine](probe&) { mine.insert(std::this_thread::get_id()); };
    all.push_back(
        s.spawn<probe>(alone, log, steps{.at_start = here, .at_stop = here, .at_end = here}));
    for (int i = 0; i < 10; ++i) all.back().send(call{here});
  }
  for (const auto& each : all) each.stop();
  for (const auto& each : all) EXPECT_EQ(each.join(), exit_reason::stopped);
  std::set<std::thread::id> together{std::this_thread::get_id()};
  for (const auto& mine : seen) {
    EXPECT_THAT(mine, SizeIs(1));
    together.insert(mine.begin(), mine.end());
  }
  EXPECT_THAT(together, SizeIs(4));
}

TEST(own_thread, may_block_without_holding_up_the_pool) {
  journal log;
  event handled;
  system s{{.workers = 1}};
  const auto blocks = s.spawn<probe>(alone, log);
  const auto pooled = s.spawn<probe>(log);
  blocks.send(call{[&](probe&) { EXPECT_TRUE(handled.wait()); }});
  pooled.send(call{[&](probe&) { handled.set(); }});
  blocks.stop();
  EXPECT_EQ(blocks.join(), exit_reason::stopped);
}

TEST(own_thread, an_idle_one_is_stopped_and_joined_like_others) {
  journal log;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(alone, log, steps{.at_start = [&](probe&) { log.write("idle"); }});
  ASSERT_TRUE(log.wait_for(1));
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  const auto b = s.spawn<probe>(alone, log);
  b.stop_now();
  EXPECT_EQ(b.join(), exit_reason::stopped_now);
}

TEST(own_thread, an_unreachable_one_ends_by_itself) {
  journal log;
  system s{{.workers = 1}};
  s.spawn<probe>(alone, log).send(note{"1"});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_THAT(log.lines(), ElementsAre("1", "destroyed"));
}

TEST(own_thread, ends_with_its_actor) {
  journal log;
  system s{{.workers = 1}};
  for (int i = 0; i < 50; ++i) {
    const auto a = s.spawn<probe>(alone, log);
    a.stop();
    a.join();
  }
  EXPECT_TRUE(eventually([&] { return s.statistics().own_threads == 0; }));
}

TEST(own_thread, exits_if_the_constructor_throws) {
  class impossible : public actor {
   public:
    impossible() { throw std::runtime_error("impossible"); }
  };
  system s{{.workers = 1}};
  EXPECT_THROW(s.spawn<impossible>(alone), std::runtime_error);
  EXPECT_EQ(s.statistics().actors_alive, 0u);
  EXPECT_TRUE(eventually([&] { return s.statistics().own_threads == 0; }));
}

TEST(own_thread, bears_the_name_of_its_actor) {
  journal log;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(spawn_options{.name = "alice", .where = own_thread}, log);
  a.send(call{[&](probe&) {
    std::array<char, 16> name{};
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    log.write(name.data());
  }});
  a.stop();
  a.join();
  EXPECT_THAT(log.lines(), ElementsAre("alice", "destroyed"));
}

TEST(own_thread, may_send_to_itself_in_its_destructor) {
  journal log;
  recorder told;
  system s{told.options()};
  const auto a = s.spawn<probe>(alone, log, steps{.at_end = [](probe& me) {
                                  EXPECT_EQ(me.me().send(note{"never"}), delivery::accepted);
                                }});
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(told.dead_letters(), SizeIs(1));
}

TEST(own_thread, may_spawn_and_stop_others_like_it) {
  journal log;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(alone, log);
  a.send(call{[&](probe& me) {
    for (int i = 0; i < 10; ++i) {
      const auto child = me.system().spawn<probe>(alone, log);
      child.send(note{"child"});
      child.stop();
      EXPECT_EQ(child.join(), exit_reason::stopped);
    }
  }});
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), SizeIs(21));
}

TEST(own_thread, wakes_for_each_message_however_it_falls_asleep) {
  class sink : public actor {
   public:
    void on(event* reached) { reached->set(); }
  };
  constexpr int rounds = sanitized ? 1'000 : 5'000;
  system s{{.workers = 1}};
  const auto a = s.spawn<sink>(alone);
  for (int i = 0; i < rounds; ++i) {
    event reached;
    a.send(&reached);
    ASSERT_TRUE(reached.wait()) << "in round " << i;
  }
}

}  // namespace
}  // namespace troupe::test
