// SPDX-License-Identifier: Apache-2.0
// Handlers during which their actor does nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/ask_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

TEST(exclusive_task, nothing_else_is_handled_while_it_waits) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(exclusive_work{[it](asker_actor& me) -> task<> {
    me.log.write("begins");
    (void)co_await it.ask<add>(patience, 1, 2);
    me.log.write("goes on");
    (void)co_await it.ask<add>(patience, 1, 2);
    me.log.write("ends");
  }});
  who.send(note{"first"});
  who.send(note{"second"});
  ASSERT_TRUE(log.wait_for(1));
  who.send(note{"third"});
  ASSERT_TRUE(eventually([&] {
    on.play();
    return log.lines().size() == 6;
  }));
  EXPECT_THAT(log.lines(), ElementsAre("begins", "goes on", "ends", "first", "second", "third"));
}

TEST(exclusive_task, delays_other_suspended_handlers_until_it_finishes) {
  journal log;
  stage on;
  const auto other = on.spawn<oracle>();
  const auto gate = on.spawn<oracle>();
  const auto who = on.spawn<asker_actor>(log);
  who.send(work{[other](asker_actor& me) -> task<> {
    me.log.write("asks");
    (void)co_await other.ask<add>(patience, 1, 2);
    me.log.write("is answered");
  }});
  who.send(exclusive_work{[gate](asker_actor& me) -> task<> {
    me.log.write("begins");
    (void)co_await gate.ask<answer_later>(patience);
    me.log.write("ends");
  }});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("asks", "begins"));
  gate.send(answer_now{0});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("asks", "begins", "ends", "is answered"));
}

TEST(exclusive_task, a_stop_waits_for_it_and_stop_now_does_not) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  const auto forever = [it](asker_actor& me) -> task<> {
    me.log.write("begins");
    (void)co_await it.ask<add>(no_timeout, 1, 2);
    me.log.write("ends");
  };
  who.send(exclusive_work{forever});
  ASSERT_TRUE(log.wait_for(1));
  who.stop();
  EXPECT_FALSE(who.join_for(2ms));
  who.stop_now();
  EXPECT_EQ(who.join(), exit_reason::stopped_now);
  EXPECT_THAT(log.lines(), ElementsAre("begins", "destroyed"));
}

struct fill_up {};
class selfish : public actor {
 public:
  explicit selfish(journal& log) : log_(log) {}
  exclusive_task<> on(fill_up) {
    for (int i = 0; i < 4; ++i) (void)co_await self(this).async_send<note>("self");
    log_.write("over");
  }
  void on(const note& n) { log_.write(n.text); }

 private:
  journal& log_;
};

TEST(exclusive_task, does_not_wait_for_space_in_the_mailbox_of_its_own_actor) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<selfish>({.max_messages = 1}, log);
  it.send(fill_up{});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_EQ(log.lines().front(), "over");
}

TEST(exclusive_task, that_waits_is_in_the_report_of_a_shutdown) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(exclusive_work{[it](asker_actor& me) -> task<> {
    me.log.write("begins");
    (void)co_await it.ask<add>(no_timeout, 1, 2);
  }});
  ASSERT_TRUE(log.wait_for(1));
  std::thread([&] {
    EXPECT_TRUE(eventually([&] {
      for (const auto& each : on.system.shutdown(1ms).stragglers) {
        if (each.who == address(who)) return each.doing.find("exclusive_work") != std::string::npos;
      }
      return false;
    }));
  }).join();
}

}  // namespace
}  // namespace troupe::test
