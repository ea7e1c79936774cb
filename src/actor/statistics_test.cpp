// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <troupe/detail/sync/thread_traits.hpp>
#include <troupe/troupe.hpp>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

TEST(statistics, of_a_fresh_system_are_zero) {
  // A previous system that leaves nothing at zero.
  {
    journal log;
    stage s;
    const auto a = s.spawn<probe>(log);
    a.send_every(1ms, note{"tick"});
    ASSERT_TRUE(eventually([&] { return s.system.statistics().ticks_skipped > 0; }));
    a.send(call{[](probe&) { throw 1; }});
    s.play();
    a.send(note{"dead"});
  }
  const system s{{.workers = 3}};
  const statistics now = s.statistics();
  EXPECT_EQ(now.actors_alive, 0u);
  EXPECT_EQ(now.actors_spawned, 0u);
  EXPECT_EQ(now.messages_accepted, 0u);
  EXPECT_EQ(now.messages_handled, 0u);
  EXPECT_EQ(now.messages_waiting, 0u);
  EXPECT_EQ(now.mailbox_depth_highest, 0u);
  EXPECT_EQ(now.turns, 0u);
  EXPECT_EQ(now.dead_letters, 0u);
  EXPECT_EQ(now.failures, 0u);
  EXPECT_EQ(now.timers_armed, 0u);
  EXPECT_EQ(now.ticks_skipped, 0u);
  EXPECT_EQ(now.workers, 3u);
  EXPECT_EQ(now.own_threads, 0u);
}

TEST(statistics, count_actors) {
  journal log;
  stage s;
  {
    const auto a = s.spawn<probe>(log);
    const auto b = s.spawn<probe>(log);
    const auto c = s.system.spawn<probe>(spawn_options{.where = own_thread}, log);
    EXPECT_EQ(s.system.statistics().actors_alive, 3u);
    EXPECT_EQ(s.system.statistics().own_threads, 1u);
    a.stop();
    s.play();
    EXPECT_EQ(s.system.statistics().actors_alive, 2u) << "an ended one is not alive, held or not";
  }
  s.play();
  EXPECT_TRUE(eventually([&] { return s.system.statistics().actors_alive == 0; }));
  EXPECT_EQ(s.system.statistics().actors_spawned, 3u);
  EXPECT_TRUE(eventually([&] { return s.system.statistics().own_threads == 0; }));
}

TEST(statistics, count_messages_that_wait_and_that_were_handled) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  s.play();
  const statistics before = s.system.statistics();
  EXPECT_EQ(before.messages_waiting, 0u);
  for (int i = 0; i < 10; ++i) a.send(note{"message"});
  statistics now = s.system.statistics();
  EXPECT_EQ(now.messages_accepted, before.messages_accepted + 10);
  EXPECT_EQ(now.messages_handled, before.messages_handled);
  EXPECT_EQ(now.messages_waiting, 10u);
  s.play();
  now = s.system.statistics();
  EXPECT_EQ(now.messages_handled, before.messages_handled + 10);
  EXPECT_EQ(now.messages_waiting, 0u);
  EXPECT_GE(now.mailbox_depth_highest, 10u);
  EXPECT_GT(now.turns, before.turns);
}

TEST(statistics, count_a_discarded_message_as_handled_and_as_a_dead_letter) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  for (int i = 0; i < 10; ++i) a.send(note{"message"});
  a.stop_now();
  s.play();
  const statistics now = s.system.statistics();
  EXPECT_EQ(now.messages_handled, now.messages_accepted);
  EXPECT_EQ(now.messages_waiting, 0u);
  EXPECT_EQ(now.dead_letters, 10u);
  a.send(note{"refused"});
  EXPECT_EQ(s.system.statistics().dead_letters, 11u);
  EXPECT_EQ(s.system.statistics().messages_accepted, now.messages_accepted);
}

TEST(statistics, agree_after_much_traffic_from_everywhere) {
  class relay : public actor {
   public:
    explicit relay(ref<relay> next) : next_(std::move(next)) {}
    void on(int n) {
      if (next_) next_.send(n + 1);
    }

   private:
    const ref<relay> next_;
  };
  constexpr int messages = sanitized ? 500 : 3'000;
  stage s{2};
  ref<relay> first;
  for (const placement where : {pool, own_thread, bound_to(s.pump), pool, bound_to(s.pump)}) {
    first = s.system.spawn<relay>(spawn_options{.where = where}, first);
  }
  std::vector<std::thread> senders;
  for (int n = 0; n < 3; ++n) {
    senders.emplace_back([first] {
      for (int i = 0; i < messages; ++i) first.send(0);
    });
  }
  first = {};
  s.pump.run_until_stopped();
  for (std::thread& each : senders) each.join();
  EXPECT_TRUE(eventually([&] { return s.system.statistics().actors_alive == 0; }));
  const statistics now = s.system.statistics();
  EXPECT_EQ(now.messages_handled, now.messages_accepted);
  EXPECT_GE(now.messages_accepted, 3u * 5 * messages);
  EXPECT_EQ(now.dead_letters, 0u);
}

TEST(statistics, count_busy_and_parked_workers) {
  journal log;
  event handling;
  event go_on;
  system s{{.workers = 2}};
  EXPECT_TRUE(eventually([&] { return s.statistics().workers_parked == 2; }));
  EXPECT_EQ(s.statistics().workers_busy, 0u);
  const auto a = s.spawn<probe>(log);
  a.send(call{[&](probe&) {
    handling.set();
    go_on.wait();
  }});
  ASSERT_TRUE(handling.wait());
  EXPECT_GE(s.statistics().workers_busy, 1u);
  EXPECT_TRUE(eventually([&] { return s.statistics().workers_parked == 1; }));
  go_on.set();
  EXPECT_TRUE(eventually([&] { return s.statistics().workers_parked == 2; }));
}

TEST(statistics, show_one_worker_for_each_usable_cpu_by_default) {
  const system s;
  EXPECT_EQ(s.statistics().workers, usable_cpus());
}

TEST(statistics, count_timers_that_are_armed) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  timer t = a.send_after(1h, note{"never"});
  a.send_every(1h, note{"never"});
  EXPECT_EQ(s.system.statistics().timers_armed, 2u);
  t.cancel();
  EXPECT_EQ(s.system.statistics().timers_armed, 1u);
  a.send_after(0s, call{[](probe& me) { me.stop(); }});
  a.join();
  EXPECT_EQ(s.system.statistics().timers_armed, 0u);
}

TEST(statistics, of_two_systems_are_their_own) {
  journal log;
  system one{{.workers = 1}};
  system two{{.workers = 1}};
  const auto a = one.spawn<probe>(log);
  const auto b = two.spawn<probe>(log);
  // From one system to the other.
  a.send(call{[&](probe&) {
    for (int i = 0; i < 10; ++i) b.send(note{"from the other system"});
  }});
  ASSERT_TRUE(log.wait_for(10));
  a.stop();
  b.stop();
  a.join();
  b.join();
  EXPECT_EQ(one.statistics().actors_spawned, 1u);
  EXPECT_EQ(two.statistics().actors_spawned, 1u);
  EXPECT_EQ(one.statistics().messages_accepted, one.statistics().messages_handled);
  EXPECT_EQ(two.statistics().messages_accepted, two.statistics().messages_handled);
  EXPECT_EQ(two.statistics().messages_handled, 11u);
}

}  // namespace
}  // namespace troupe::test
