// SPDX-License-Identifier: Apache-2.0
// The contract's second table: what keeps an actor alive, one test per row. (The tests of the
// layers with sockets show that an operation on a socket does.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/troupe.hpp>
#include <utility>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(contract, a_ref_keeps_an_actor_alive) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  auto b = a;
  s.play();
  a = {};
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty());
  auto c = std::move(b);
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty());
  c = {};
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, a_recipient_keeps_an_actor_alive) {
  journal log;
  stage s;
  recipient<note> r = s.spawn<probe>(log);
  auto copy = r;
  auto moved = std::move(r);
  s.play();
  copy = {};
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty());
  moved = {};
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, a_message_in_its_mailbox_keeps_an_actor_alive_until_it_is_handled) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  s.play();
  a.send(note{"handled"});
  a.send(call{[](probe& me) { me.me().send(note{"and what it sends to itself"}); }});
  a = {};
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("handled", "and what it sends to itself", "destroyed"));
}

TEST(contract, a_timer_of_send_after_keeps_an_actor_alive_until_it_fires) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  a.send_after(2ms, note{"fired"});
  a = {};
  ASSERT_TRUE(eventually([&] {
    s.pump.drain();
    return !log.lines().empty();
  }));
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("fired", "destroyed"));
}

TEST(contract, a_timer_of_send_after_keeps_an_actor_alive_until_it_is_cancelled) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  timer t = a.send_after(1h, note{"never"});
  a = {};
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty());
  EXPECT_TRUE(t.cancel());
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, a_timer_of_send_every_keeps_an_actor_alive_until_it_is_cancelled) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  timer t = a.send_every(1ms, note{"tick"});
  a = {};
  ASSERT_TRUE(eventually([&] {
    s.pump.drain();
    return log.lines().size() >= 3;
  }));
  EXPECT_TRUE(t.cancel());
  s.play();
  EXPECT_EQ(log.lines().back(), "destroyed");
}

TEST(contract, its_current_turn_keeps_an_actor_alive) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  a.send(call{[&](probe& me) {
    a = {};  // there is no other reference
    log.write("still here");
    EXPECT_EQ(me.me().send(note{"and reachable for itself"}), delivery::accepted);
  }});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("still here", "and reachable for itself", "destroyed"));
}

TEST(contract, a_ref_made_in_its_last_turn_keeps_an_actor_alive) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  ref<probe> again;
  a.send(call{[&](probe& me) {
    a = {};
    again = me.me();
  }});
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty());
  again = {};
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, a_weak_ref_and_an_address_keep_nothing_alive) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  s.play();
  const weak_ref<probe> weak = a;
  const address where = a;
  a = {};
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
  EXPECT_EQ(weak.address(), where);
}

TEST(contract, self_does_not_keep_an_actor_alive) {
  class keeps_itself : public actor {
   public:
    explicit keeps_itself(journal& log) : log_(log) {}
    ~keeps_itself() { log_.write("destroyed"); }

   private:
    journal& log_;
    const self_ref<keeps_itself> me_ = self(this);
    const weak_ref<keeps_itself> weak_ = me_;
    const address where_ = self_address();
  };
  journal log;
  stage s;
  s.spawn<keeps_itself>(log);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, a_ref_to_itself_does_keep_an_actor_alive_until_it_is_stopped) {
  class holds_itself : public actor {
   public:
    explicit holds_itself(journal& log) : log_(log) {}
    ~holds_itself() { log_.write("destroyed"); }

   private:
    journal& log_;
    const ref<holds_itself> me_ = self(this);
  };
  journal log;
  stage s;
  auto a = s.spawn<holds_itself>(log);
  const weak_ref<holds_itself> weak = a;
  a = {};
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty());
  weak.lock().stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, being_watched_does_not_keep_an_actor_alive) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  const auto w = s.spawn<probe>(log);
  w.send(call{[where = a.address()](probe& me) { me.watch(where); }});
  s.play();
  a = {};
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed", "down: unreachable"));
}

TEST(contract, watching_does_not_keep_an_actor_alive) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  auto w = s.spawn<probe>(log);
  w.send(call{[&](probe& me) { me.watch(a); }});
  s.play();
  w = {};
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, two_actors_that_watch_each_other_terminate) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  auto b = s.spawn<probe>(log);
  a.send(call{[where = b.address()](probe& me) { me.watch(where); }});
  b.send(call{[where = a.address()](probe& me) { me.watch(where); }});
  s.play();
  a = {};
  b = {};
  s.play();
  EXPECT_EQ(s.system.statistics().actors_alive, 0u);
}

}  // namespace
}  // namespace troupe::test
