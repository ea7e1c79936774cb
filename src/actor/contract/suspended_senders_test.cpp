// SPDX-License-Identifier: Apache-2.0
// The effect of each operation on an actor that is suspended because a mailbox to which it sent is
// full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <troupe/troupe.hpp>

#include "actor/overload_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The records of the actors, which it outlives.
struct pages {
  journal log;
  std::vector<int> got;
};

// An actor `paused` that waits for room in the mailbox of `full`, which the test pumps.
struct pausing : pages, pumped_crowd {
  explicit pausing(steps does = {}, placement where = pool)
      : full(system.spawn<sink>(here(2), got)),
        paused(system.spawn<probe>(spawn_options{.where = where}, log, std::move(does))) {
    paused.send(call{[this](probe&) { send_items(full, 3); }});
    EXPECT_TRUE(eventually([this] { return is_paused(); }));
  }
  [[nodiscard]] bool is_paused() const { return system.statistics().senders_paused == 1; }

  ref<sink> full;
  ref<probe> paused;
};

TEST(contract, send_to_a_suspended_actor_is_accepted_and_handled_after_the_suspension) {
  pausing s;
  EXPECT_EQ(s.paused.send(note{"1"}), delivery::accepted);
  EXPECT_EQ(s.paused.send(note{"2"}), delivery::accepted);
  EXPECT_TRUE(s.is_paused());
  EXPECT_THAT(s.log.lines(), IsEmpty());
  s.play();
  EXPECT_TRUE(s.log.wait_for(2));
  EXPECT_THAT(s.log.lines(), ElementsAre("1", "2"));
}

TEST(contract, send_to_a_suspended_actor_with_its_own_thread_is_handled_afterwards) {
  pausing s({}, own_thread);
  EXPECT_EQ(s.paused.send(note{"1"}), delivery::accepted);
  EXPECT_TRUE(s.is_paused());
  s.play();
  EXPECT_TRUE(s.log.wait_for(1));
}

TEST(contract, a_timer_of_a_suspended_actor_fires_and_is_handled_afterwards) {
  pausing s;
  s.paused.send_after(0ms, note{"timer"});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().messages_waiting == 4; }));
  EXPECT_TRUE(s.is_paused());
  EXPECT_THAT(s.log.lines(), IsEmpty());
  s.play();
  EXPECT_TRUE(s.log.wait_for(1));
}

TEST(contract, stop_of_a_suspended_actor_is_handled_after_earlier_messages) {
  pausing s;
  s.paused.send(note{"before"});
  s.paused.stop();
  s.play();
  EXPECT_EQ(s.paused.join(), exit_reason::stopped);
  EXPECT_THAT(s.log.lines(), ElementsAre("before", "destroyed"));
}

TEST(contract, stop_now_of_a_suspended_actor_terminates_it_at_once) {
  for (const placement where : {pool, own_thread}) {
    pausing s({}, where);
    s.paused.send(note{"never"});
    s.paused.stop_now();
    EXPECT_EQ(s.paused.join(), exit_reason::stopped_now);
    EXPECT_THAT(s.log.lines(), ElementsAre("destroyed"));
    EXPECT_THAT(s.got, IsEmpty());
    EXPECT_THAT(s.told.dead_letters(), SizeIs(1));
    EXPECT_EQ(s.system.statistics().senders_paused, 0u);
    s.play();
    EXPECT_THAT(s.got, SizeIs(3)) << "what it had sent is not lost";
  }
}

TEST(contract, releasing_the_last_reference_to_a_suspended_actor_lets_it_resume_first) {
  pausing s;
  s.paused.send(note{"before"});
  s.paused = {};
  EXPECT_THAT(s.log.lines(), IsEmpty());
  s.play();
  EXPECT_TRUE(s.log.wait_for(2));
  EXPECT_THAT(s.log.lines(), ElementsAre("before", "destroyed"));
}

TEST(contract, watch_of_a_suspended_actor_sends_down_when_it_terminates) {
  journal seen;
  pausing s;
  const auto watcher = s.system.spawn<probe>(seen);
  watcher.send(call{[&](probe& me) { me.watch(s.paused); }});
  watcher.send(note{"watching"});
  ASSERT_TRUE(seen.wait_for(1));
  s.paused.stop_now();
  EXPECT_TRUE(seen.wait_for(2));
  EXPECT_THAT(seen.lines(), ElementsAre("watching", "down: stopped_now"));
}

TEST(contract, weak_ref_lock_of_a_suspended_actor_gives_a_ref) {
  pausing s;
  const weak_ref<probe> weak = s.paused;
  EXPECT_EQ(weak.lock(), s.paused);
}

TEST(contract, join_of_a_suspended_actor_waits) {
  pausing s;
  EXPECT_EQ(s.paused.join_for(0ms), std::nullopt);
  s.paused.stop();
  std::optional<exit_reason> reason;
  std::thread other([&] { reason = s.paused.join_for(patience); });
  s.play();
  other.join();
  EXPECT_EQ(reason, exit_reason::stopped);
}

TEST(contract, shutdown_terminates_suspended_actors_and_the_receivers_they_wait_for) {
  pausing s;
  s.paused.send(note{"before"});
  const auto report = s.system.shutdown(patience);
  EXPECT_TRUE(report.complete());
  EXPECT_THAT(s.log.lines(), ElementsAre("before", "destroyed"));
  EXPECT_THAT(s.got, SizeIs(3));
}

// ── The one for which it waits ends ─────────────────────────────────────────────────────────────

TEST(contract, a_suspended_actor_resumes_when_the_full_receiver_is_stopped) {
  pausing s;
  s.paused.send(note{"goes on"});
  s.full.stop();
  EXPECT_EQ(s.full.join(), exit_reason::stopped);
  EXPECT_TRUE(s.log.wait_for(1));
}

TEST(contract, a_suspended_actor_resumes_when_the_full_receiver_is_stopped_now) {
  pausing s;
  s.paused.send(call{[&](probe&) {
    EXPECT_EQ(s.full.send(item{9}), delivery::refused);
    s.log.write("goes on");
  }});
  s.full.stop_now();
  EXPECT_EQ(s.full.join(), exit_reason::stopped_now);
  EXPECT_TRUE(s.log.wait_for(1));
  EXPECT_THAT(s.told.dead_letters(), SizeIs(4));
  EXPECT_THAT(s.got, IsEmpty());
}

TEST(contract, a_suspended_actor_resumes_when_the_full_receiver_fails) {
  class brittle : public actor {
   public:
    void on(item) { throw std::runtime_error("brittle"); }
  };
  journal log;
  pumped_crowd s;
  const auto full = s.system.spawn<brittle>(s.here(8));
  const auto paused = s.system.spawn<probe>(log);
  paused.send(call{[&](probe&) { send_items(full, 9); }});
  paused.send(note{"goes on"});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  EXPECT_EQ(full.join(), exit_reason::failed);
  EXPECT_TRUE(log.wait_for(1));
  EXPECT_THAT(s.told.dead_letters(), SizeIs(8));
}

TEST(contract, a_suspended_actor_resumes_when_the_full_receiver_is_unreferenced) {
  pausing s;
  s.paused.send(note{"goes on"});
  s.full = {};
  s.play();
  EXPECT_TRUE(s.log.wait_for(1));
  EXPECT_THAT(s.got, SizeIs(3));
}

TEST(contract, a_suspended_thread_resumes_when_the_full_receiver_terminates) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2), got);
  std::thread sender([&] {
    EXPECT_EQ(send_items(full, 3).back(), delivery::refused);
    EXPECT_EQ(full.send(item{3}), delivery::refused);
  });
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  full.stop_now();
  EXPECT_EQ(full.join(), exit_reason::stopped_now);
  sender.join();
  EXPECT_THAT(s.told.dead_letters(), SizeIs(4));
}

TEST(contract, a_suspended_actor_resumes_when_the_full_receivers_pump_is_destroyed) {
  journal log;
  std::vector<int> got;
  crowd s;
  const auto paused = s.system.spawn<probe>(log);
  {
    pump p{s.system};
    const auto full =
        s.system.spawn<sink>(spawn_options{.where = bound_to(p), .max_messages = 2}, got);
    paused.send(call{[full](probe&) { send_items(full, 3); }});
    paused.send(note{"goes on"});
    ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  }
  EXPECT_TRUE(log.wait_for(1));
}

// ── In other places of its life ─────────────────────────────────────────────────────────────────

TEST(contract, an_actor_that_fills_a_mailbox_in_on_start_is_suspended_after_on_start) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2), got);
  const auto a =
      s.system.spawn<probe>(log, steps{.at_start = [&](probe&) { send_items(full, 3); }});
  a.send(note{"goes on"});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  EXPECT_THAT(log.lines(), IsEmpty());
  s.play();
  EXPECT_TRUE(log.wait_for(1));
}

TEST(contract, an_actor_that_terminates_is_not_suspended) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2), got);
  const auto fill = [&](probe&) { send_items(full, 3); };
  const auto stops = s.system.spawn<probe>(log, steps{.at_stop = fill, .at_end = fill});
  stops.stop();
  EXPECT_EQ(stops.join(), exit_reason::stopped);
  const auto fails = s.system.spawn<probe>(log);
  fails.send(call{[&](probe& me) {
    fill(me);
    throw std::runtime_error("on purpose");
  }});
  EXPECT_EQ(fails.join(), exit_reason::failed);
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
  s.play();
  EXPECT_EQ(got.size() + s.full.counts().refused, 9u);
}

// ── Across systems ──────────────────────────────────────────────────────────────────────────────

TEST(contract, an_actor_of_another_system_is_suspended_as_well) {
  journal log;
  std::vector<int> got;
  pumped_crowd of_full;
  crowd of_sender;
  const auto full = of_full.system.spawn<sink>(of_full.here(2), got);
  const auto sender = of_sender.system.spawn<probe>(log);
  sender.send(call{[&](probe&) { send_items(full, 9); }});
  sender.send(note{"goes on"});
  ASSERT_TRUE(eventually([&] { return of_full.system.statistics().senders_paused == 1; }));
  EXPECT_THAT(log.lines(), IsEmpty());
  of_full.play();
  EXPECT_TRUE(log.wait_for(1));
  EXPECT_EQ(of_full.full.counts(), (overload_counts{.paused = 1}));
  EXPECT_THAT(got, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

// It is told so in the handler that fills the mailbox: the mark is there before the handler is
// over.
TEST(contract, an_actor_that_receives_stop_now_is_not_suspended) {
  journal log;
  std::vector<int> got;
  pumped_crowd apart;  // whose pump does not run
  pumped_crowd s;
  const auto full = apart.system.spawn<sink>(apart.here(2), got);
  const auto stops = s.system.spawn<probe>(spawn_options{.where = bound_to(s.pump)}, log);
  stops.send(call{[&](probe& me) {
    send_items(full, 3);
    me.me().stop_now();
  }});
  s.play();
  EXPECT_EQ(apart.system.statistics().senders_paused, 0u);
  EXPECT_EQ(s.system.statistics().actors_alive, 0u);
  apart.play();
}

}  // namespace
}  // namespace troupe::test
