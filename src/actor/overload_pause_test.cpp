// SPDX-License-Identifier: Apache-2.0
// Backpressure: which senders wait when a mailbox is full, from when to when, and which do not.
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

TEST(backpressure, takes_all_that_one_handler_sends_and_suspends_the_sender_after_it) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto sender = s.system.spawn<probe>(log);
  event sent;
  std::vector<delivery> became;
  sender.send(call{[&](probe&) {
    became = send_items(full, 1'000);
    sent.set();
  }});
  sender.send(note{"goes on"});
  ASSERT_TRUE(sent.wait());
  EXPECT_EQ(how_many(became, A), 4);
  EXPECT_EQ(how_many(became, P), 996);
  ASSERT_TRUE(eventually([&] { return s.full.counts().paused > 0; }));
  EXPECT_EQ(s.full.counts(), (overload_counts{.paused = 1})) << "it waits once, after its handler";
  EXPECT_THAT(log.lines(), IsEmpty());
  s.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 1'000)));
  EXPECT_TRUE(log.wait_for(1));
}

TEST(backpressure, is_reported_with_the_receiver_and_the_message_type) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  spawn_options options = s.here(1);
  options.name = "the full one";
  const auto full = s.system.spawn<sink>(options, got);
  const auto sender = s.system.spawn<probe>(log);
  sender.send(call{[&](probe&) { send_items(full, 5); }});
  ASSERT_TRUE(eventually([&] { return s.full.lines().size() == 1; }));
  for (const auto& line : s.full.lines()) {
    EXPECT_EQ(line.to, full.address());
    EXPECT_EQ(line.actor, "the full one");
    EXPECT_EQ(line.message, type_name<item>());
  }
}

TEST(backpressure, an_actor_is_not_scheduled_until_space_frees_and_keeps_its_order) {
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

TEST(backpressure, lasts_until_the_mailbox_is_half_empty) {
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

TEST(backpressure, a_plain_thread_waits_inside_of_send_before_its_message_is_taken) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  std::vector<delivery> became;
  std::thread sender([&] {
    became = send_items(full, 4);
    EXPECT_THAT(became, Each(A));
    EXPECT_EQ(full.send(item{4}), A);
    became = send_items(full, 1, 5);
  });
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  EXPECT_THAT(became, SizeIs(4)) << "it is still inside";
  EXPECT_EQ(s.system.statistics().messages_waiting, 4u);
  s.play();
  sender.join();
  EXPECT_THAT(became, ElementsAre(A));
  s.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 6)));
  EXPECT_EQ(s.full.counts(), (overload_counts{.paused = 1}));
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
}

TEST(backpressure, suspended_threads_are_served_first_in_first_out) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  send_items(full, 4);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] { EXPECT_EQ(full.send(item{10 + static_cast<int>(i)}), A); });
    ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == i + 1; }));
  }
  s.play();
  for (std::thread& each : threads) each.join();
  s.play();
  EXPECT_THAT(got, ElementsAre(0, 1, 2, 3, 10, 11, 12));
}

TEST(backpressure, a_message_larger_than_the_limit_is_taken_when_the_mailbox_is_half_empty) {
  struct large {
    std::string text;
  };
  class reader : public actor {
   public:
    explicit reader(std::vector<std::size_t>& got) : got_(got) {}
    void on(const large& m) { got_.push_back(m.text.size()); }

   private:
    std::vector<std::size_t>& got_;
  };
  std::vector<std::size_t> got;
  pumped_crowd s;
  spawn_options options = s.here(100);
  options.max_bytes = 10'000;
  const auto full = s.system.spawn<reader>(options, got);
  event done;
  std::thread sender([&] {
    EXPECT_EQ(full.send(large{std::string(9'000, 'a')}), A);
    EXPECT_EQ(full.send(large{std::string(50'000, 'b')}), A);
    EXPECT_EQ(full.send(large{std::string(100, 'c')}), A);
    done.set();
  });
  EXPECT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  EXPECT_THAT(got, IsEmpty());
  EXPECT_TRUE(eventually([&] {
    s.play();
    return done.is_set();
  }));
  sender.join();
  s.play();
  EXPECT_THAT(got, ElementsAre(9'000u, 50'000u, 100u));
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
}

TEST(backpressure, of_several_threads_ends_for_all) {
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

TEST(backpressure, does_not_happen_to_an_actor_that_sends_to_itself) {
  pumped_crowd s;
  class narcissus : public actor {
   public:
    explicit narcissus(int& handled) : handled_(handled) {}
    void on(explode) { EXPECT_THAT(send_items(self(this), 20), Each(A)); }
    void on(item) { ++handled_; }

   private:
    int& handled_;
  };
  int handled = 0;
  const auto full = s.system.spawn<narcissus>(s.here(4), handled);
  full.send(explode{});
  s.pump.drain();
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
  s.play();
  EXPECT_EQ(handled, 20);
  EXPECT_EQ(s.full.counts(), overload_counts{});
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
}

TEST(backpressure, happens_to_an_actor_whatever_it_has_to_do_itself) {
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
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  EXPECT_THAT(log.lines(), IsEmpty());
  s.play();
  EXPECT_TRUE(log.wait_for(4));
}

TEST(backpressure, is_for_every_full_mailbox_that_the_handler_has_sent_to) {
  journal log;
  std::vector<int> got;
  std::vector<int> other_got;
  turnstile gate;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto slow =
      s.system.spawn<slow_sink>(spawn_options{.where = own_thread, .max_messages = 4}, gate);
  const auto sender = s.system.spawn<probe>(log);
  slow.send(item{0});
  ASSERT_TRUE(gate.wait_for_one_after(0));
  sender.send(call{[&](probe&) {
    send_items(full, 5);
    send_items(slow, 5);
    send_items(full, 5);
  }});
  sender.send(note{"goes on"});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  s.play();
  EXPECT_EQ(got.size(), 10u);
  EXPECT_EQ(s.system.statistics().senders_paused, 1u) << "the other one is still full";
  EXPECT_THAT(log.lines(), IsEmpty());
  gate.let(6);
  EXPECT_TRUE(log.wait_for(1));
}

TEST(backpressure, spreads_to_senders_that_wait_for_the_suspended_actor) {
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
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 2; }));
  EXPECT_THAT(log.lines(), IsEmpty());
  s.play();
  EXPECT_TRUE(log.wait_for(6)) << "both go on";
  EXPECT_EQ(s.full.counts(), (overload_counts{.paused = 2}));
}

TEST(backpressure, that_would_complete_a_cycle_does_not_happen_and_is_counted) {
  class ping : public actor {
   public:
    explicit ping(journal& log) : log_(log) {}
    void on(const ref<ping>& other) { other_ = other; }
    void on(item i) {
      log_.write(std::to_string(i.number));
      if (i.number < 50) {
        for (int copy = 0; copy < 2; ++copy) other_.send(item{i.number + 10});
      }
    }

   private:
    ref<ping> other_;
    journal& log_;
  };
  journal log;
  pumped_crowd s;
  const auto one = s.system.spawn<ping>(s.here(1), log);
  const auto other = s.system.spawn<ping>(s.here(1), log);
  one.send(other);
  other.send(one);
  s.play();
  one.send(item{0});
  s.play();
  EXPECT_THAT(log.lines(), SizeIs(63)) << "1, 2, 4, 8, 16 and 32: nothing is lost, nothing stands";
  EXPECT_EQ(s.full.counts().refused, 0u);
  EXPECT_GT(s.full.counts().wait_cycles, 0u);
  EXPECT_EQ(s.system.statistics().wait_cycles, s.full.counts().wait_cycles);
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
  one.send(ref<ping>{});
  other.send(ref<ping>{});
  s.play();
}

TEST(backpressure, does_not_happen_to_a_thread_with_a_pump) {
  turnstile gate;
  pumped_crowd s;
  const auto full =
      s.system.spawn<slow_sink>(spawn_options{.where = own_thread, .max_messages = 4}, gate);
  full.send(item{0});
  ASSERT_TRUE(gate.wait_for_one_after(0));
  const auto became = send_items(full, 20);
  EXPECT_EQ(became.front(), A);
  EXPECT_GE(how_many(became, P), 16);
  EXPECT_EQ(how_many(became, R), 0);
  EXPECT_EQ(s.system.statistics().pauses, 0u);
  EXPECT_GT(s.system.statistics().overdraft_bytes, 0u);
  gate.let(21);
  EXPECT_TRUE(eventually([&] { return s.system.statistics().overdraft_bytes == 0; }));
}

TEST(backpressure, does_not_happen_to_a_thread_with_a_pump_of_another_system) {
  turnstile gate;
  const pumped_crowd mine;
  crowd s(1);
  const auto full =
      s.system.spawn<slow_sink>(spawn_options{.where = own_thread, .max_messages = 2}, gate);
  EXPECT_EQ(send_items(full, 4).back(), P);
  EXPECT_EQ(s.full.counts(), overload_counts{});
  gate.let(4);
}

TEST(backpressure, does_not_happen_to_a_thread_that_pumps_the_receiver) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  EXPECT_THAT(send_items(full, 6), ElementsAre(A, A, A, A, P, P));
  EXPECT_EQ(s.full.counts(), overload_counts{});
  s.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 6)));
  EXPECT_EQ(full.send(item{4}), A);
  s.play();
}

TEST(backpressure, does_not_happen_in_a_constructor) {
  class eager : public actor {
   public:
    explicit eager(int& handled) : handled_(handled) { became = send_items(self(this), 20); }
    void on(item) { ++handled_; }
    std::vector<delivery> became;

   private:
    int& handled_;
  };
  int handled = 0;
  pumped_crowd s;
  std::thread([&] { s.system.spawn<eager>(s.here(4), handled); }).join();
  s.play();
  EXPECT_EQ(handled, 20);
}

TEST(backpressure, of_an_actor_ends_when_a_time_out_of_its_handler_expires) {
  class asking_one : public actor {
   public:
    asking_one(ref<sink> full, ref<probe> never, journal& log)
        : full_(std::move(full)), never_(std::move(never)), log_(log) {}
    task<> on(explode) {
      send_items(full_, 5);
      const auto ended = co_await end_of(never_, 2ms);
      log_.write(ended ? "ended" : "late");
    }

   private:
    ref<sink> full_;
    ref<probe> never_;
    journal& log_;
  };
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto never = s.system.spawn<probe>(log);
  const auto sender = s.system.spawn<asking_one>(full, never, log);
  sender.send(explode{});
  EXPECT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("late"));
  EXPECT_THAT(got, IsEmpty());
  EXPECT_EQ(s.full.counts(), (overload_counts{.paused = 1, .pauses_timed_out = 1}));
  EXPECT_EQ(s.system.statistics().pauses_timed_out, 1u);
  s.play();
}

}  // namespace
}  // namespace troupe::test
