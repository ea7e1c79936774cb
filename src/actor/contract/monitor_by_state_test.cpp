// SPDX-License-Identifier: Apache-2.0
// The row `watch` of the contract, and the content of a `down`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Watches the actors that it is sent, and keeps the downs where the test sees them.
class watcher : public actor {
 public:
  explicit watcher(std::vector<down>& downs) : downs_(downs) {}
  void on(const address& other) { watch(other); }
  void on(const ref<probe>& other) { watch(other); }
  void on(const down& d) { downs_.push_back(d); }

 private:
  std::vector<down>& downs_;
};

struct seen {
  journal log;
  std::vector<down> downs;
};

// A stage, a watcher, and the journal of what happens there, which outlives both.
struct theatre : seen, stage {
  ref<watcher> w = spawn<watcher>(downs);
};

TEST(contract, watch_of_a_starting_actor_sends_down_when_it_terminates) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  t.w.send(ref{a});
  t.w.send(a.address());
  t.pump.drain();
  EXPECT_THAT(t.downs, IsEmpty());
  a.stop();
  t.play();
  ASSERT_EQ(t.downs.size(), 2u);
  for (const down& each : t.downs) {
    EXPECT_EQ(each.who, a.address());
    EXPECT_EQ(each.reason, exit_reason::stopped);
    EXPECT_EQ(each.what, "");
    EXPECT_EQ(each.unhandled, 0u);
  }
}

TEST(contract, watch_during_on_start_sends_down_when_the_actor_terminates) {
  event in_on_start;
  event go_on;
  theatre t;
  const auto a = t.system.spawn<probe>(spawn_options{.where = own_thread}, t.log,
                                       steps{.at_start = [&](probe&) {
                                         in_on_start.set();
                                         go_on.wait();
                                       }});
  ASSERT_TRUE(in_on_start.wait());
  t.w.send(a.address());
  t.play();
  EXPECT_THAT(t.downs, IsEmpty());
  a.stop_now();
  go_on.set();
  a.join();
  t.play();
  ASSERT_EQ(t.downs.size(), 1u);
  EXPECT_EQ(t.downs[0].reason, exit_reason::stopped_now);
}

TEST(contract, watch_of_a_running_actor_sends_down_with_its_reason_when_it_terminates) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  t.play();
  t.w.send(ref{a});
  t.w.send(a.address());
  t.play();
  EXPECT_THAT(t.downs, IsEmpty());
  a.send(call{[](probe&) { throw std::runtime_error("broken"); }});
  a.send(note{"1"});
  a.stop();
  a.send(note{"2"});
  t.play();
  ASSERT_EQ(t.downs.size(), 2u);
  for (const down& each : t.downs) {
    EXPECT_EQ(each.who, a.address());
    EXPECT_EQ(each.reason, exit_reason::failed);
    EXPECT_EQ(each.what, "broken");
    EXPECT_EQ(each.unhandled, 2u) << "the user's messages; stop is none of them";
  }
}

TEST(contract, watch_of_a_stopping_actor_sends_down_when_it_terminates) {
  event in_on_stop;
  event go_on;
  theatre t;
  const auto a = t.system.spawn<probe>(spawn_options{.where = own_thread}, t.log,
                                       steps{.at_stop = [&](probe&) {
                                         in_on_stop.set();
                                         go_on.wait();
                                       }});
  a.stop();
  ASSERT_TRUE(in_on_stop.wait());
  t.w.send(ref{a});
  t.w.send(a.address());
  t.play();
  EXPECT_THAT(t.downs, IsEmpty());
  go_on.set();
  a.join();
  t.play();
  ASSERT_EQ(t.downs.size(), 2u);
  EXPECT_EQ(t.downs[0].reason, exit_reason::stopped);
  EXPECT_EQ(t.downs[1].reason, exit_reason::stopped);
}

TEST(contract, watch_of_a_terminated_actor_through_a_ref_sends_its_reason_at_once) {
  theatre t;
  const auto stopped = t.spawn<probe>(t.log);
  const auto stopped_now = t.spawn<probe>(t.log);
  const auto failed = t.spawn<probe>(t.log);
  stopped.stop();
  stopped_now.stop_now();
  failed.send(call{[](probe&) { throw std::runtime_error("broken"); }});
  t.play();
  for (const auto& each : {stopped, stopped_now, failed}) t.w.send(ref{each});
  t.play();
  ASSERT_EQ(t.downs.size(), 3u);
  EXPECT_EQ(t.downs[0].who, stopped.address());
  EXPECT_EQ(t.downs[0].reason, exit_reason::stopped);
  EXPECT_EQ(t.downs[1].reason, exit_reason::stopped_now);
  EXPECT_EQ(t.downs[2].reason, exit_reason::failed);
}

TEST(contract, watch_of_a_terminated_actor_through_an_address_sends_unknown_at_once) {
  theatre t;
  auto a = t.spawn<probe>(t.log);
  const address kept = a;
  a.stop();
  t.play();
  t.w.send(address{kept});
  t.play();
  a = {};  // now the slot is free
  t.w.send(address{kept});
  t.play();
  const auto next = t.spawn<probe>(t.log);  // and now another actor may use it
  t.w.send(address{kept});
  t.play();
  ASSERT_EQ(t.downs.size(), 3u);
  for (const down& each : t.downs) {
    EXPECT_EQ(each.who, kept);
    EXPECT_EQ(each.reason, exit_reason::unknown);
  }
}

TEST(contract, watch_of_an_empty_address_sends_unknown_at_once) {
  theatre t;
  t.w.send(address{});
  t.play();
  ASSERT_EQ(t.downs.size(), 1u);
  EXPECT_EQ(t.downs[0].who, address{});
  EXPECT_EQ(t.downs[0].reason, exit_reason::unknown);
}

TEST(watch, notifies_once_per_call) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  for (int i = 0; i < 5; ++i) t.w.send(a.address());
  t.play();
  a.stop();
  t.play();
  EXPECT_EQ(t.downs.size(), 5u);
}

TEST(watch, notifies_every_monitoring_actor_once) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  std::vector<ref<watcher>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(t.spawn<watcher>(t.downs));
    all.back().send(a.address());
  }
  t.play();
  a.stop();
  t.play();
  EXPECT_EQ(t.downs.size(), 100u);
}

TEST(watch, reports_that_an_actor_became_unreachable) {
  theatre t;
  auto a = t.spawn<probe>(t.log);
  t.w.send(a.address());
  t.play();
  a = {};
  t.play();
  ASSERT_EQ(t.downs.size(), 1u);
  EXPECT_EQ(t.downs[0].reason, exit_reason::unreachable);
}

TEST(watch, by_an_actor_that_has_terminated_sends_nothing) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  t.w.send(a.address());
  t.play();
  t.w.stop();
  t.play();
  a.stop();
  t.play();
  EXPECT_THAT(t.downs, IsEmpty());
  EXPECT_THAT(t.told.dead_letters(), IsEmpty());
}

TEST(watch, without_a_handler_for_down_is_a_logic_error) {
  class deaf : public actor {
   public:
    void on(const address& other) { EXPECT_THROW(watch(other), std::logic_error); }
    void on(const ref<deaf>& other) { EXPECT_THROW(watch(other), std::logic_error); }
  };
  stage s;
  const auto a = s.spawn<deaf>();
  a.send(a.address());
  a.send(ref{a});
  s.play();
  a.stop();
  s.play();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(s.told.failures(), IsEmpty());
}

TEST(watch, notifies_a_handler_that_takes_the_sender) {
  class asker : public actor {
   public:
    explicit asker(journal& log) : log_(log) {}
    void on(const address& other) { watch(other); }
    void on(down d, address sender) {
      log_.write(std::string(to_string(d.reason)) + (sender ? " by somebody" : " by nobody"));
    }

   private:
    journal& log_;
  };
  journal log;
  stage s;
  const auto a = s.spawn<asker>(log);
  const auto b = s.spawn<probe>(log);
  a.send(b.address());
  s.play();
  b.stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed", "stopped by nobody"));
}

}  // namespace
}  // namespace troupe::test
