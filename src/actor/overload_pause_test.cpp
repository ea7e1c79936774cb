// SPDX-License-Identifier: Apache-2.0
// Senders wait when a mailbox is full: who, from when to when, and who does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <troupe/troupe.hpp>

#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto A = delivery::accepted;
constexpr auto P = delivery::paused;
constexpr auto R = delivery::refused;

TEST(overload_pause, an_actor_is_accepted_then_paused_and_refused_at_four_times_the_limit) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto sender = s.system.spawn<probe>(log);
  event sent;
  std::vector<delivery> became;
  sender.send(call{[&](probe&) {
    became = send_items(full, 18);
    sent.set();
  }});
  ASSERT_TRUE(sent.wait());
  EXPECT_THAT(became, ElementsAre(A, A, A, A, P, P, P, P, P, P, P, P, P, P, P, P, R, R));
  EXPECT_EQ(s.full.counts().refused, 2u);
  ASSERT_TRUE(eventually([&] { return s.full.counts().paused > 0; }));
  EXPECT_EQ(s.full.counts().paused, 1u) << "it waits once, after its handler";
  s.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 16)));
}

TEST(overload_pause, is_told_with_the_receiver_and_the_message) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  spawn_options options = s.here(1);
  options.name = "the full one";
  const auto full = s.system.spawn<sink>(options, got);
  const auto sender = s.system.spawn<probe>(log);
  sender.send(call{[&](probe&) { send_items(full, 5); }});
  ASSERT_TRUE(eventually([&] { return s.full.lines().size() == 2; }));
  for (const auto& line : s.full.lines()) {
    EXPECT_EQ(line.to, full.address());
    EXPECT_EQ(line.actor, "the full one");
    EXPECT_EQ(line.message, type_name<item>());
  }
}

TEST(overload_pause, a_paused_actor_gets_no_turn_until_there_is_room_and_goes_on_in_order) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto sender = s.system.spawn<probe>(spawn_options{.where = bound_to(s.pump)}, log);
  s.play();
  sender.send(call{[&](probe&) {
    EXPECT_EQ(how_many(send_items(full, 5), P), 1);
    log.write("handler ends");
  }});
  sender.send(note{"1"});
  s.pump.drain();
  EXPECT_THAT(log.lines(), ElementsAre("handler ends")) << "no other message of the same turn";
  EXPECT_THAT(got, IsEmpty());
  EXPECT_EQ(s.system.statistics().senders_paused, 1u);
  sender.send(note{"2"});
  s.pump.drain();
  EXPECT_THAT(got, SizeIs(5));
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
  sender.send(note{"3"});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("handler ends", "1", "2", "3"));
}

TEST(overload_pause, lasts_until_the_mailbox_is_half_empty) {
  journal log;
  turnstile gate;
  crowd s;
  const auto full =
      s.system.spawn<slow_sink>(spawn_options{.where = own_thread, .max_messages = 8}, gate);
  const auto sender = s.system.spawn<probe>(log);
  full.send(item{0});
  ASSERT_TRUE(gate.wait_for_one_after(0));
  event goes_on;
  int passed = 0;
  sender.send(call{[&](probe&) { EXPECT_EQ(send_items(full, 9).back(), P); }});
  sender.send(call{[&](probe&) {
    passed = gate.passed();
    goes_on.set();
  }});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  // Of ten, six are handled, one is being handled, three wait.
  for (int i = 0; i < 6; ++i) {
    gate.let(1);
    ASSERT_TRUE(gate.wait_for_one_after(i + 1));
  }
  EXPECT_TRUE(goes_on.wait());
  EXPECT_GE(passed, 5) << "five waited still";
  gate.let(4);
}

TEST(overload_pause, a_plain_thread_waits_inside_of_send) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  std::vector<delivery> became;
  std::thread sender([&] {
    became = send_items(full, 4);
    EXPECT_THAT(became, Each(A));
    EXPECT_EQ(full.send(item{4}), P);
    became = send_items(full, 2, 5);
  });
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  EXPECT_THAT(became, SizeIs(4)) << "it is still inside";
  s.play();
  sender.join();
  EXPECT_THAT(became, ElementsAre(A, A));
  s.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 7)));
  EXPECT_EQ(s.full.counts(), (overload_counts{.paused = 1}));
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
}

TEST(overload_pause, a_plain_thread_is_refused_at_four_times_the_limit_and_does_not_wait) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto sender = s.system.spawn<probe>(log);
  event sent;
  sender.send(call{[&](probe&) {
    send_items(full, 16);
    sent.set();
  }});
  ASSERT_TRUE(sent.wait());
  std::thread([&] { EXPECT_EQ(full.send(item{99}), R); }).join();
  EXPECT_EQ(s.full.counts().refused, 1u);
  s.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 16)));
}

TEST(overload_pause, of_several_threads_ends_for_all) {
  turnstile gate;
  crowd s;
  const auto full =
      s.system.spawn<slow_sink>(spawn_options{.where = own_thread, .max_messages = 4}, gate);
  atomic<int> taken{0};
  atomic<int> refused{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 20; ++j) {
          const delivery became = full.send(item{j});
          ++(became == R ? refused : taken);
        }
      });
    }
    ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 8; }));
    gate.let(160);
  }
  full.stop();
  EXPECT_EQ(full.join(), exit_reason::stopped);
  EXPECT_EQ(taken, 160);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(gate.passed(), 160);
}

TEST(overload_pause, of_an_actor_ends_by_itself_after_pause_max) {
  journal log;
  std::vector<int> got;
  pumped_crowd s(2, 2ms);
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto sender = s.system.spawn<probe>(log);
  sender.send(call{[&](probe&) { send_items(full, 5); }});
  sender.send(note{"goes on"});
  EXPECT_TRUE(log.wait_for(1));
  EXPECT_THAT(got, IsEmpty());
  EXPECT_TRUE(eventually([&] { return s.full.counts().pauses_timed_out == 1; }));
  EXPECT_EQ(s.full.counts(), (overload_counts{.paused = 1, .pauses_timed_out = 1}));
  const auto now = s.system.statistics();
  EXPECT_EQ(now.pauses, 1u);
  EXPECT_EQ(now.pauses_timed_out, 1u);
  EXPECT_EQ(now.senders_paused, 0u);
  const auto last = s.full.lines().back();
  EXPECT_EQ(last.what, overload_event::kind::pause_timed_out);
  EXPECT_EQ(last.to, full.address());
  EXPECT_EQ(last.actor, type_name<sink>());
  EXPECT_EQ(last.message, "");
}

TEST(overload_pause, of_a_thread_ends_by_itself_after_pause_max) {
  std::vector<int> got;
  pumped_crowd s(2, 2ms);
  const auto full = s.system.spawn<sink>(s.here(4), got);
  std::thread([&] { EXPECT_THAT(send_items(full, 6), ElementsAre(A, A, A, A, P, P)); }).join();
  EXPECT_EQ(s.full.counts(), (overload_counts{.paused = 2, .pauses_timed_out = 2}));
  EXPECT_EQ(s.system.statistics().pauses_timed_out, 2u);
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
}

TEST(overload_pause, does_not_happen_to_who_sends_to_himself) {
  pumped_crowd s;
  class narcissus : public actor {
   public:
    explicit narcissus(std::vector<delivery>& became) : became_(became) {}
    void on(explode) { became_ = send_items(self(this), 20); }
    void on(item) { ++handled; }
    int handled = 0;
    ~narcissus() { EXPECT_EQ(handled, how_many(became_, A) + how_many(became_, P)); }

   private:
    std::vector<delivery>& became_;
  };
  std::vector<delivery> became;
  const auto full = s.system.spawn<narcissus>(s.here(4), became);
  full.send(explode{});
  s.pump.drain();
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
  const auto refused = how_many(became, R);
  EXPECT_GE(refused, 4) << "four times the limit are sixteen";
  EXPECT_LE(refused, 5) << "the one in hand may count";
  EXPECT_EQ(became.front(), A);
  EXPECT_EQ(became.back(), R);
  EXPECT_EQ(s.full.counts(), (overload_counts{.refused = static_cast<std::uint64_t>(refused)}));
  s.play();
  full.stop();
  EXPECT_EQ(full.join(), exit_reason::stopped);
}

TEST(overload_pause, does_not_happen_to_an_actor_with_half_of_its_own_mailbox_full) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto sender = s.system.spawn<probe>(spawn_options{.max_messages = 6}, log);
  event has_work;
  sender.send(call{[&](probe&) {
    ASSERT_TRUE(has_work.wait());
    EXPECT_EQ(send_items(full, 5).back(), P);
  }});
  for (const char* each : {"1", "2", "3", "4"}) sender.send(note{each});
  has_work.set();
  EXPECT_TRUE(log.wait_for(4));
  EXPECT_THAT(got, IsEmpty());
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
  EXPECT_EQ(s.system.statistics().pauses, 0u);
}

TEST(overload_pause, of_an_actor_ends_when_another_actor_waits_for_it) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto first = s.system.spawn<probe>(spawn_options{.max_messages = 4}, log);
  const auto second = s.system.spawn<probe>(log);
  first.send(call{[&](probe&) { send_items(full, 5); }});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  second.send(call{[&](probe&) {
    for (int i = 0; i < 5; ++i) first.send(note{"first"});
  }});
  second.send(note{"second"});
  EXPECT_TRUE(log.wait_for(6)) << "both go on";
  EXPECT_THAT(got, IsEmpty());
  EXPECT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 0; }));
  EXPECT_EQ(s.full.counts().pauses_timed_out, 0u);
}

TEST(overload_pause, of_an_actor_ends_when_a_thread_waits_for_it) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto first = s.system.spawn<probe>(spawn_options{.max_messages = 4}, log);
  first.send(call{[&](probe&) { send_items(full, 5); }});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  std::thread([&] {
    for (int i = 0; i < 5; ++i) EXPECT_NE(first.send(note{"first"}), R);
  }).join();
  EXPECT_TRUE(log.wait_for(5));
  EXPECT_THAT(got, IsEmpty());
}

TEST(overload_pause, does_not_happen_to_a_thread_with_a_pump) {
  turnstile gate;
  pumped_crowd s;
  const auto full =
      s.system.spawn<slow_sink>(spawn_options{.where = own_thread, .max_messages = 4}, gate);
  full.send(item{0});
  ASSERT_TRUE(gate.wait_for_one_after(0));
  const auto became = send_items(full, 20);
  EXPECT_EQ(became.front(), A);
  EXPECT_GE(how_many(became, P), 12);
  EXPECT_EQ(became.back(), R);
  EXPECT_EQ(s.system.statistics().pauses, 0u);
  gate.let(21);
}

TEST(overload_pause, does_not_happen_to_a_thread_with_a_pump_of_another_system) {
  turnstile gate;
  const pumped_crowd mine;
  crowd s(1, 1ms);
  const auto full =
      s.system.spawn<slow_sink>(spawn_options{.where = own_thread, .max_messages = 2}, gate);
  EXPECT_EQ(send_items(full, 4).back(), P);
  EXPECT_EQ(s.full.counts(), overload_counts{});
  gate.let(4);
}

TEST(overload_pause, does_not_happen_to_a_thread_that_pumps_the_receiver_but_it_is_refused) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  EXPECT_THAT(send_items(full, 6), ElementsAre(A, A, A, A, R, R));
  EXPECT_EQ(s.full.counts(), (overload_counts{.refused = 2}));
  s.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 4)));
  EXPECT_EQ(full.send(item{4}), A);
}

}  // namespace
}  // namespace troupe::test
