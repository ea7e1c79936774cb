// SPDX-License-Identifier: Apache-2.0
// The faults that a simulation injects, and their effects on a program.
#include <troupe/sim/faults.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <troupe/sim/explore.hpp>
#include <troupe/sim/simulation.hpp>
#include <troupe/troupe.hpp>

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::Lt;

struct number {
  int value;
};

class list : public actor {
 public:
  explicit list(std::vector<int>& into) : into_(into) {}
  void on(number n) { into_.push_back(n.value); }

 private:
  std::vector<int>& into_;
};

std::vector<int> up_to(int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(i);
  return all;
}

TEST(faults, are_not_injected_by_default) {
  simulation sim(1);
  system s;
  std::vector<int> got;
  const auto it = s.spawn<list>(got);
  for (int i = 0; i < 100; ++i) it.send(number{i});
  sim.run_until_idle();
  EXPECT_EQ(got, up_to(100));
  EXPECT_EQ(sim.faults_so_far(), 0u);
}

TEST(faults, a_handler_fails_and_its_message_is_lost) {
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    simulation sim(seed);
    system s({.on_failure = [](const failure&) {}});
    std::vector<int> got;
    const auto it = s.spawn<list>(got);
    sim.inject({.failures_one_in = 20});
    for (int i = 0; i < 10; ++i) it.send(number{i});
    sim.run_until_idle();
    if (sim.faults_so_far() == 0) {
      EXPECT_EQ(got.size(), 10u);
      continue;
    }
    ++failed;
    EXPECT_EQ(it.join(), exit_reason::failed);
    EXPECT_LT(got.size(), 10u);
    EXPECT_EQ(got, up_to(static_cast<int>(got.size())));
    EXPECT_THAT(sim.trace(), HasSubstr("failed: a fault of the simulation; in  "));
  }
  EXPECT_GT(failed, 40);
  EXPECT_LT(failed, 140);
}

TEST(faults, one_actor_fails_at_a_message_that_is_chosen) {
  std::vector<int> at(6);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    simulation sim(seed);
    system s({.on_failure = [](const failure&) {}});
    std::vector<int> got;
    std::vector<int> of_other;
    const auto it = s.spawn<list>(got);
    const auto other = s.spawn<list>(of_other);
    sim.fail_at_one_of(it, 5);
    for (int i = 0; i < 10; ++i) {
      it.send(number{i});
      other.send(number{i});
    }
    sim.run_until_idle();
    EXPECT_EQ(of_other.size(), 10u);
    EXPECT_TRUE(got.size() < 5 || got.size() == 10);
    ++at[got.size() == 10 ? 0 : got.size() + 1];
  }
  EXPECT_THAT(at, testing::Each(Gt(20)));  // both no failure and a failure at each message
}

TEST(faults, that_were_ended_do_not_fail_a_message_chosen_earlier) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    simulation sim(seed);
    system s({.on_failure = [](const failure&) {}});
    std::vector<int> got;
    const auto it = s.spawn<list>(got);
    sim.fail_at_one_of(it, 5);
    sim.end_faults();
    for (int i = 0; i < 10; ++i) it.send(number{i});
    sim.run_until_idle();
    EXPECT_EQ(got.size(), 10u);
    EXPECT_EQ(sim.faults_so_far(), 0u);
  }
}

TEST(faults, periods_of_late_timers_are_handled_or_counted_as_skipped) {
  constexpr auto period = 10ms;
  constexpr int periods = 200;
  for (const bool waits : {false, true}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      simulation sim(seed);
      system s;
      std::vector<int> got;
      const auto it = s.spawn<list>(got);
      if (waits) {
        sim.inject(it.address(), {.pauses_one_in = 2, .pause_max = 10 * period});
      } else {
        sim.inject({.late_timers_one_in = 2, .timer_late_max = 10 * period});
      }
      timer every = it.send_every(period, number{0});
      sim.advance(periods * period);
      const auto seen = static_cast<int>(got.size() + s.statistics().ticks_skipped);
      EXPECT_NEAR(seen, periods, 15) << got.size() << " of them handled, seed " << seed;
      EXPECT_GT(s.statistics().ticks_skipped, 30u);
      every.cancel();
      sim.end_faults();
    }
  }
}

TEST(faults, a_request_to_a_failing_handler_gets_an_error) {
  struct question {};
  class oracle : public actor {
   public:
    int on(question) { return 42; }
  };
  simulation sim(1);
  system s({.on_failure = [](const failure&) {}});
  const auto it = s.spawn<oracle>();
  sim.inject(it, {.failures_one_in = 1});
  const auto answer = it.ask<question>(10s).get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), ask_error::failed);
}

TEST(faults, a_full_mailbox_applies_its_overflow_policy) {
  simulation sim(1);
  system s;
  std::vector<int> got;
  const auto refusing = s.spawn<list>({.on_full = overflow::refuse}, got);
  const auto dropping = s.spawn<list>({.on_full = overflow::drop_newest}, got);
  const auto usual = s.spawn<list>(got);
  sim.inject({.full_mailboxes_one_in = 1});
  EXPECT_EQ(refusing.send(number{1}), delivery::refused);
  EXPECT_EQ(dropping.send(number{2}), delivery::dropped);
  EXPECT_EQ(usual.send(number{3}), delivery::accepted) << "the thread waits for room";
  sim.end_faults();
  EXPECT_EQ(refusing.send(number{4}), delivery::accepted);
  sim.run_until_idle();
  EXPECT_THAT(got, ::testing::UnorderedElementsAre(3, 4));
  EXPECT_THAT(sim.trace(), AllOf(HasSubstr("list  refused  "), HasSubstr("list  dropped  ")));
}

TEST(faults, an_actor_resumes_after_a_pause) {
  duration longest{};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    simulation sim(seed);
    system s;
    std::vector<int> got;
    const auto it = s.spawn<list>(got);
    sim.inject({.pauses_one_in = 2, .pause_max = 1s});
    const time_point before = sim.now();
    for (int i = 0; i < 5; ++i) it.send(number{i});
    ASSERT_TRUE(sim.run_until([&] { return got.size() == 5; }, 1h));
    EXPECT_EQ(got, up_to(5));
    longest = std::max(longest, sim.now() - before);
    sim.inject(faults{});
  }
  EXPECT_THAT(longest, AllOf(Gt(900ms), Lt(10s)));
}

class relay : public actor {
 public:
  explicit relay(ref<list> to) : to_(std::move(to)) {}
  void on(number n) { to_.send(n); }

 private:
  const ref<list> to_;
};

TEST(faults, between_two_actors_messages_are_late_and_stay_in_order) {
  int overtaken = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    simulation sim(seed);
    system s;
    std::vector<int> got;
    const auto last = s.spawn<list>(got);
    const auto slow = s.spawn<relay>(last);
    const auto quick = s.spawn<relay>(last);
    sim.inject(slow, last, {.late_messages_one_in = 3, .message_late_max = 1s});
    for (int i = 0; i < 10; ++i) {
      slow.send(number{i});
      quick.send(number{100 + i});
    }
    sim.run_until_idle();
    const std::size_t at_once = got.size();
    sim.advance(11s);
    ASSERT_EQ(got.size(), 20u);
    std::vector<int> of_slow;
    for (const int each : got) {
      if (each < 100) of_slow.push_back(each);
    }
    EXPECT_EQ(of_slow, up_to(10));
    if (at_once < 20) ++overtaken;
  }
  EXPECT_GT(overtaken, 40);
}

TEST(faults, a_late_message_to_a_terminated_actor_is_a_dead_letter) {
  simulation sim(1);
  system s;
  std::vector<int> got;
  const auto last = s.spawn<list>(got);
  sim.inject(last, {.late_messages_one_in = 1});
  EXPECT_EQ(last.send(number{1}), delivery::accepted);
  last.stop_now();
  sim.advance(1s);
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(s.statistics().dead_letters, 1u);
}

TEST(faults, late_messages_are_dropped_when_their_system_terminates) {
  simulation sim(1);
  std::vector<int> got;
  {
    system s;
    const auto last = s.spawn<list>(got);
    sim.inject(last, {.late_messages_one_in = 1});
    last.send(number{1});
  }
  EXPECT_TRUE(got.empty());
}

TEST(faults, timers_are_late_and_not_early) {
  duration latest{};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    simulation sim(seed);
    system s;
    std::vector<int> got;
    const auto it = s.spawn<list>(got);
    sim.inject({.late_timers_one_in = 2, .timer_late_max = 100ms});
    it.send_after(1s, number{0});
    sim.advance(999ms);
    EXPECT_TRUE(got.empty());
    const time_point before = sim.now();
    ASSERT_TRUE(sim.run_until([&] { return !got.empty(); }, 1h));
    latest = std::max(latest, sim.now() - before);
  }
  EXPECT_GT(latest, 100ms);
}

TEST(faults, a_timer_that_is_always_late_fires_all_the_same) {
  simulation sim(1);
  system s;
  std::vector<int> got;
  const auto it = s.spawn<list>(got);
  sim.inject({.late_timers_one_in = 1, .timer_late_max = 100ms});
  it.send_after(1s, number{0});
  sim.eventually(
      "it fires", [&] { return !got.empty(); }, 1200ms);
}

class talker : public actor {
 public:
  talker(ref<list> to, int most) : to_(std::move(to)), most_(most) {}
  void on(number n) {
    to_.send(n);
    if (n.value + 1 < most_) self(this).send(number{n.value + 1});
  }

 private:
  const ref<list> to_;
  const int most_;
};

TEST(faults, no_message_overtakes_a_late_one_even_when_it_is_due) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    simulation sim(seed);
    system s;
    std::vector<int> got;
    const auto last = s.spawn<list>(got);
    const auto first = s.spawn<talker>(last, 200);
    sim.inject(first, last, {.late_messages_one_in = 5, .message_late_max = 20us});
    first.send(number{0});
    sim.advance(1s);
    ASSERT_EQ(got, up_to(200)) << seed;
  }
}

TEST(faults, an_allocation_fails_in_a_handler) {
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    simulation sim(seed);
    system s({.on_failure = [&](const failure& f) {
      EXPECT_EQ(f.what, "std::bad_alloc");
      ++failed;
    }});
    std::vector<int> got;
    const auto last = s.spawn<list>(got);
    const auto first = s.spawn<relay>(last);
    sim.inject({.failed_allocations_one_in = 10});
    for (int i = 0; i < 5; ++i) first.send(number{i});
    sim.run_until_idle();
    if (sim.faults_so_far() != 0) {
      EXPECT_THAT(sim.trace(), HasSubstr("relay  finds no memory"));
    } else {
      EXPECT_EQ(got, up_to(5));
    }
    sim.end_faults();
  }
  EXPECT_GT(failed, 10);
}

TEST(faults, stop_after_end_faults) {
  simulation sim(1);
  system s;
  std::vector<int> got;
  const auto it = s.spawn<list>(got);
  sim.inject({.failures_one_in = 1, .full_mailboxes_one_in = 1, .pauses_one_in = 1});
  sim.end_faults();
  for (int i = 0; i < 10; ++i) it.send(number{i});
  sim.eventually(
      "all are there", [&] { return got.size() == 10; }, 1s);
  EXPECT_EQ(sim.faults_so_far(), 0u);
}

TEST(faults, eventually_fails_the_run_if_the_condition_stays_false) {
  simulation sim(77);
  const system s;
  (void)sim.choose(5, "something");
  try {
    sim.eventually(
        "somebody answers", [] { return false; }, 5s);
    FAIL();
  } catch (const broken_invariant& e) {
    EXPECT_EQ(e.name(), "somebody answers");
    EXPECT_THAT(e.what(), AllOf(HasSubstr("has not happened within 5 s"), HasSubstr("seed 77")));
    // The text also names the log file.
    const std::string text = e.what();
    const std::string before = "choices are in ";
    const std::size_t from = text.find(before) + before.size();
    const std::string file = text.substr(from, text.find(" (TROUPE_SIM_LOG)") - from);
    std::ifstream in(file);
    const std::string log{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(choice_log::parse(log).choices, sim.choices().choices);
    EXPECT_EQ(sim.choices().choices.size(), 1u);
    std::filesystem::remove(file);
  }
}

TEST(faults, the_same_seed_has_the_same_ones) {
  const auto hash = [](std::uint64_t seed) {
    simulation sim(seed);
    system s({.on_failure = [](const failure&) {}});
    std::vector<int> got;
    const auto last = s.spawn<list>(got);
    const auto first = s.spawn<relay>(last);
    sim.inject({.failures_one_in = 30,
                .full_mailboxes_one_in = 20,
                .pauses_one_in = 10,
                .late_messages_one_in = 10,
                .late_timers_one_in = 3,
                .failed_allocations_one_in = 20});
    for (int i = 0; i < 20; ++i) (void)first.send_after(i * 10ms, number{i});
    sim.advance(5s);
    sim.end_faults();
    return sim.trace_hash();
  };
  for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(hash(seed), hash(seed)) << seed;
}

TEST(faults, a_shrunk_run_has_as_few_as_will_do) {
  const explored all = explore({.seeds = 200, .processes = 2}, [](simulation& sim) {
    system s({.on_failure = [](const failure&) {}});
    std::vector<int> got;
    const auto it = s.spawn<list>({.on_full = overflow::refuse}, got);
    sim.inject({.full_mailboxes_one_in = 4, .pauses_one_in = 4});
    for (int i = 0; i < 20; ++i) (void)it.send(number{i});
    sim.advance(1min);
    sim.eventually(
        "all are there", [&] { return got.size() == 20; }, 1min);
  });
  ASSERT_FALSE(all);
  EXPECT_GT(all.failure->chosen_at_first, 4u);
  EXPECT_EQ(all.failure->chosen, 1u);  // one refused message is enough
}

}  // namespace
}  // namespace troupe::sim
