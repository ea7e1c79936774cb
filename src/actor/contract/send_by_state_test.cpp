// SPDX-License-Identifier: Apache-2.0
// The row `send` of the contract. (ARCHITECTURE.md, "The states of an actor".)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <troupe/troupe.hpp>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(contract, send_to_a_starting_actor_is_accepted_and_handled_after_on_start) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log, steps{.at_start = [&](probe&) { log.write("on_start"); }});
  EXPECT_EQ(a.send(note{"first"}), delivery::accepted);
  EXPECT_EQ(a.send(note{"second"}), delivery::accepted);
  EXPECT_THAT(log.lines(), IsEmpty());
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "first", "second"));
}

TEST(contract, send_during_on_start_is_accepted_and_handled_after_it) {
  journal log;
  event in_on_start;
  event sent;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(log, steps{.at_start = [&](probe& me) {
                                  me.me().send(note{"from on_start"});
                                  in_on_start.set();
                                  sent.wait();
                                  log.write("on_start ends");
                                }});
  ASSERT_TRUE(in_on_start.wait());
  EXPECT_EQ(a.send(note{"from another thread"}), delivery::accepted);
  sent.set();
  a.stop();
  a.join();
  EXPECT_THAT(log.lines(),
              ElementsAre("on_start ends", "from on_start", "from another thread", "destroyed"));
}

TEST(contract, send_to_an_actor_under_construction_is_accepted_and_handled_after_it) {
  class eager : public actor {
   public:
    explicit eager(journal& log) : log_(log) {
      EXPECT_EQ(self(this).send(note{"sent by the constructor"}), delivery::accepted);
      log_.write("constructor ends");
    }
    void on(const note& n) { log_.write(n.text); }

   private:
    journal& log_;
  };
  journal log;
  system s{{.workers = 2}};
  const auto a = s.spawn<eager>(log);
  a.stop();
  a.join();
  EXPECT_THAT(log.lines(), ElementsAre("constructor ends", "sent by the constructor"));
}

TEST(contract, send_to_a_running_actor_is_accepted) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  s.play();
  EXPECT_EQ(a.send(note{"to an idle one"}), delivery::accepted);
  EXPECT_EQ(a.send(note{"to one with work"}), delivery::accepted);
  a.send(call{[&](probe& me) {
    EXPECT_EQ(me.me().send(note{"to itself"}), delivery::accepted);
    log.write("handler ends");
  }});
  s.play();
  EXPECT_THAT(log.lines(),
              ElementsAre("to an idle one", "to one with work", "handler ends", "to itself"));
}

TEST(contract, send_to_a_stopping_actor_is_accepted_and_becomes_a_dead_letter) {
  journal log;
  stage s;
  std::size_t dead_during = 0;
  const auto send_to_myself = [&](probe& me) {
    EXPECT_EQ(me.me().send(note{"too late"}), delivery::accepted);
    dead_during += s.told.dead_letters().size();
  };
  const auto watcher = s.spawn<probe>(log);
  const auto a = s.spawn<probe>(log, steps{.at_stop = send_to_myself, .at_end = send_to_myself});
  watcher.send(call{[&](probe& me) { me.watch(a); }});
  s.play();
  a.stop();
  s.play();
  EXPECT_EQ(dead_during, 0u) << "a dead letter only when the end is complete";
  const auto dead = s.told.dead_letters();
  ASSERT_EQ(dead.size(), 2u);
  for (const dead_letter& each : dead) {
    EXPECT_EQ(each.to, a.address());
    EXPECT_EQ(each.message, type_name<note>());
  }
  EXPECT_EQ(s.system.statistics().dead_letters, 2u);
  watcher.send(call{[&](probe& me) { EXPECT_EQ(me.last_down.unhandled, 2u); }});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed", "down: stopped"));
}

TEST(contract, send_to_a_stopping_actor_from_another_thread_is_accepted_too) {
  journal log;
  recorder told;
  event in_on_stop;
  event sent;
  system s{told.options()};
  const auto a = s.spawn<probe>(log, steps{.at_stop = [&](probe&) {
                                  in_on_stop.set();
                                  sent.wait();
                                }});
  a.stop();
  ASSERT_TRUE(in_on_stop.wait());
  EXPECT_EQ(a.send(note{"too late"}), delivery::accepted);
  EXPECT_THAT(told.dead_letters(), IsEmpty());
  sent.set();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_EQ(told.dead_letters().size(), 1u);
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, send_to_a_terminated_actor_is_refused_and_a_dead_letter) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.stop();
  s.play();
  ASSERT_THAT(s.told.dead_letters(), IsEmpty());
  EXPECT_EQ(a.send(note{"too late"}), delivery::refused);
  const auto dead = s.told.dead_letters();
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].to, a.address());
  EXPECT_EQ(dead[0].message, type_name<note>());
  EXPECT_EQ(s.system.statistics().dead_letters, 1u);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, send_to_an_actor_of_a_destroyed_system_is_refused) {
  journal log;
  ref<probe> left_over;
  {
    system s{{.workers = 1}};
    left_over = s.spawn<probe>(log);
  }
  EXPECT_EQ(left_over.send(note{"too late"}), delivery::refused);
  const ref<probe> copy = left_over;
  EXPECT_EQ(copy.join(), exit_reason::stopped);
}

}  // namespace
}  // namespace troupe::test
