// SPDX-License-Identifier: Apache-2.0
#include <troupe/sim/simulation.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/blocking.hpp>
#include <troupe/actor/pump.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/serial_group.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/channel/channel.hpp>
#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/supervisor.hpp>

#include "recorder.hpp"

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

struct say {
  std::string what;
};
struct add {
  int a;
  int b;
};
struct begin {};

// Records the text of each message.
class scribe : public actor {
 public:
  explicit scribe(std::vector<std::string>& into) : into_(into) {}
  void on(say m) { into_.push_back(std::move(m.what)); }

 private:
  std::vector<std::string>& into_;
};

class adder : public actor {
 public:
  int on(add m) { return m.a + m.b; }
};

// Sends the scribe the requested number of messages, one in each turn.
class teller : public actor {
 public:
  teller(ref<scribe> to, std::string name) : to_(std::move(to)), name_(std::move(name)) {}
  void on(begin) { next(3); }
  void on(int left) { next(left); }

 private:
  void next(int left) {
    to_.send(say{name_ + std::to_string(left)});
    if (left != 1) self(this).send(left - 1);
  }
  const ref<scribe> to_;
  const std::string name_;
};

std::vector<std::string> told_with(std::uint64_t seed, std::string* trace = nullptr,
                                   std::uint64_t* hash = nullptr) {
  std::vector<std::string> told;
  simulation sim(seed);
  {
    troupe::system system;
    const auto to = system.spawn<scribe>(told);
    for (const char* each : {"a", "b", "c"}) system.spawn<teller>(to, each).send(begin{});
    sim.run_until_idle();
  }
  if (trace != nullptr) *trace = sim.trace();
  if (hash != nullptr) *hash = sim.trace_hash();
  return told;
}

// ── Order ─────────────────────────────────────────────────────────────────────────────────────

TEST(simulation, the_same_seed_makes_the_same_run) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::string one, other;
    std::uint64_t hash = 0, other_hash = 0;
    EXPECT_EQ(told_with(seed, &one, &hash), told_with(seed, &other, &other_hash));
    EXPECT_EQ(one, other);
    EXPECT_EQ(hash, other_hash);
    EXPECT_NE(hash, 0u);
  }
}

TEST(simulation, other_seeds_make_other_orders_and_each_senders_is_kept) {
  std::set<std::vector<std::string>> orders;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto told = told_with(seed);
    ASSERT_EQ(told.size(), 9u);
    orders.insert(told);
    for (const char* each : {"a", "b", "c"}) {
      std::string of_one;
      for (const std::string& what : told) {
        if (what.front() == *each) of_one += what.back();
      }
      EXPECT_EQ(of_one, "321");
    }
  }
  EXPECT_GT(orders.size(), 20u);
}

TEST(simulation, a_log_of_choices_makes_the_same_run) {
  choice_log log;
  std::uint64_t hash = 0;
  std::vector<std::string> told;
  const auto run = [&](simulation& sim) {
    told.clear();
    troupe::system system;
    const auto to = system.spawn<scribe>(told);
    for (const char* each : {"a", "b", "c"}) system.spawn<teller>(to, each).send(begin{});
    sim.run_until_idle();
  };
  {
    simulation sim(7);
    run(sim);
    log = choice_log::parse(sim.choices().text());
    EXPECT_EQ(log.choices, sim.choices().choices);
    hash = sim.trace_hash();
  }
  const auto before = told;
  simulation again(log);
  run(again);
  EXPECT_EQ(told, before);
  EXPECT_EQ(again.seed(), 7u);
  EXPECT_EQ(again.trace_hash(), hash);
}

TEST(simulation, after_the_end_of_a_log_the_first_alternative_is_chosen) {
  simulation sim{choice_log{}};
  std::vector<std::string> told;
  troupe::system system;
  const auto to = system.spawn<scribe>(told);
  const auto one = system.spawn<teller>(to, "a");
  const auto other = system.spawn<teller>(to, "b");
  one.send(begin{});
  other.send(begin{});
  sim.run_until_idle();
  EXPECT_THAT(told, ElementsAre("a3", "a2", "a1", "b3", "b2", "b1"));
}

TEST(choice_log, names_an_invalid_line) {
  for (const auto& [text, why] :
       {std::pair{"", "line 1"}, std::pair{"sed 1\n", "line 1"}, std::pair{"seed x\n", "line 1"},
        std::pair{"seed 1\n2 2 who\n", "line 2"}, std::pair{"seed 1\n0 2 who\nabc\n", "line 3"},
        std::pair{"seed 1\n-1 2 who\n", "line 2"}}) {
    try {
      (void)choice_log::parse(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& e) {
      EXPECT_THAT(e.what(), HasSubstr(why)) << text;
    }
  }
  EXPECT_EQ(choice_log::parse("seed 12\n").seed, 12u);
}

TEST(choice_log, an_error_states_the_expected_text_for_any_input) {
  try {
    (void)choice_log::parse(std::string("ELF\0\x7f", 5).append(100'000, 'x'));
    ADD_FAILURE();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("\"ELF??xxx"));
    EXPECT_THAT(e.what(), HasSubstr("x...\": expected "));
  }
}

// ── Time ──────────────────────────────────────────────────────────────────────────────────────

TEST(simulation, an_hour_passes_at_once) {
  simulation sim(1);
  std::vector<std::string> told;
  troupe::system system;
  const auto to = system.spawn<scribe>(told);
  const time_point began = clock::now();
  EXPECT_EQ(began, sim.now());
  to.send_after(1h, say{"an hour later"});
  sim.run_until_idle();
  EXPECT_TRUE(told.empty());
  sim.advance(59min);
  EXPECT_TRUE(told.empty());
  sim.advance(2min);
  EXPECT_THAT(told, ElementsAre("an hour later"));
  EXPECT_GE(clock::now(), began + 61min);
  EXPECT_LT(clock::now(), began + 61min + 1s);
}

TEST(simulation, advance_includes_timers_due_at_its_end) {
  simulation sim(1);
  std::vector<std::string> told;
  troupe::system system;
  system.spawn<scribe>(told).send_after(1h, say{"just then"});
  const time_point end = clock::now() + 1h;
  sim.advance(1h);
  EXPECT_THAT(told, ElementsAre("just then"));
  EXPECT_GE(clock::now(), end);
  EXPECT_LE(clock::now(), end + 1ms);
}

TEST(simulation, timers_of_an_idle_system_are_never_early_and_at_most_a_tick_late) {
  class late : public actor {
   public:
    explicit late(std::vector<duration>& by) : by_(by) {}
    void on(time_point due) { by_.push_back(clock::now() - due); }

   private:
    std::vector<duration>& by_;
  };
  simulation sim(3);
  std::vector<duration> by;
  troupe::system system;
  const auto to = system.spawn<late>(by);
  for (int i = 1; i <= 200; ++i) {
    const duration time = i * 7ms;
    to.send_after(time, clock::now() + time);
  }
  sim.advance(2s);
  ASSERT_EQ(by.size(), 200u);
  for (const duration each : by) {
    EXPECT_GE(each, 0ms);
    EXPECT_LE(each, 1ms);
  }
}

TEST(simulation, timers_that_are_due_at_once_fire_in_any_order) {
  std::set<std::vector<std::string>> orders;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<std::string> told;
    simulation sim(seed);
    troupe::system system;
    const auto to = system.spawn<scribe>(told);
    for (const char* each : {"a", "b", "c"}) to.send_after(10ms, say{each});
    sim.advance(20ms);
    ASSERT_EQ(told.size(), 3u);
    orders.insert(told);
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(simulation, time_passes_while_an_actor_is_always_busy) {
  class busy : public actor {
   public:
    void on(begin) { self(this).send(begin{}); }
  };
  simulation sim(1);
  std::vector<std::string> told;
  troupe::system system;
  const auto it = system.spawn<busy>();
  it.send(begin{});
  system.spawn<scribe>(told).send_after(1ms, say{"all the same"});
  EXPECT_TRUE(sim.run_until([&] { return !told.empty(); }, 1s));
  it.stop_now();
}

// ── Waiting ───────────────────────────────────────────────────────────────────────────────────

TEST(simulation, a_thread_receives_its_reply_and_joins) {
  simulation sim(1);
  troupe::system system;
  const auto it = system.spawn<adder>();
  EXPECT_EQ(*it.ask<add>(1s, 1, 2).get(), 3);
  it.stop();
  EXPECT_EQ(it.join(), exit_reason::stopped);
}

TEST(simulation, a_request_without_a_reply_times_out) {
  class silent : public actor {
   public:
    void on(add, reply<int> owed) { owed_.push_back(std::move(owed)); }

   private:
    std::vector<reply<int>> owed_;
  };
  simulation sim(1);
  troupe::system system;
  const auto it = system.spawn<silent>();
  const time_point began = clock::now();
  EXPECT_EQ(it.ask<add>(1h, 1, 2).get().error(), ask_error::timeout);
  EXPECT_GE(clock::now() - began, 1h);
  EXPECT_LT(clock::now() - began, 1h + 1s);
}

TEST(simulation, coroutines_sleep_send_requests_and_resume) {
  class asker : public actor {
   public:
    asker(ref<adder> to, std::vector<int>& sums) : to_(std::move(to)), sums_(sums) {}
    task<> on(begin) {
      for (int i = 0; i < 100; ++i) {
        co_await sleep_for(1min);
        sums_.push_back(*co_await to_.ask<add>(1s, i, i));
      }
    }

   private:
    const ref<adder> to_;
    std::vector<int>& sums_;
  };
  simulation sim(5);
  std::vector<int> sums;
  troupe::system system;
  const auto it = system.spawn<asker>(system.spawn<adder>(), sums);
  it.send(begin{});
  sim.advance(101min);
  ASSERT_EQ(sums.size(), 100u);
  EXPECT_EQ(sums.back(), 198);
}

TEST(simulation, a_blocking_handler_lets_other_actors_run) {
  class blocker : public actor {
   public:
    blocker(ref<adder> to, std::vector<std::string>& told) : to_(std::move(to)), told_(told) {}
    void on(begin) {
      told_.push_back("asks");
      told_.push_back(std::to_string(*to_.ask<add>(1s, 2, 2).get()));
    }

   private:
    const ref<adder> to_;
    std::vector<std::string>& told_;
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    simulation sim(seed);
    std::vector<std::string> told;
    troupe::system system;
    const auto it = system.spawn<blocker>(system.spawn<adder>(), told);
    it.send(begin{});
    sim.run_until_idle();
    EXPECT_THAT(told, ElementsAre("asks", "4"));
  }
}

TEST(simulation, a_channel_is_received_from_by_the_thread) {
  simulation sim(1);
  troupe::system system;
  channel<int> numbers(2);
  class source : public actor {
   public:
    explicit source(channel<int> to) : to_(std::move(to)) {}
    task<> on(begin) {
      for (int i = 0; i < 10; ++i) (void)co_await to_.async_send(i);
      to_.close();
    }

   private:
    channel<int> to_;
  };
  const auto from = system.spawn<source>(numbers);
  from.send(begin{});
  int sum = 0;
  while (const auto next = numbers.receive()) sum += *next;
  EXPECT_EQ(sum, 45);
}

TEST(simulation, a_thread_waits_for_a_name_in_its_time) {
  class late : public actor {
   public:
    void on(begin) { (void)registry(system()).add("late", self(this)); }
  };
  simulation sim(1);
  troupe::system system;
  const time_point began = clock::now();
  EXPECT_FALSE(registry(system).wait_for<late>("late", began + 1h));
  EXPECT_EQ(clock::now(), began + 1h);
  const auto it = system.spawn<late>();
  it.send_after(1min, begin{});
  EXPECT_TRUE(registry(system).wait_for<late>("late", began + 2h));
  EXPECT_GE(clock::now(), began + 61min);
  EXPECT_LT(clock::now(), began + 62min);
}

// ── Placement ─────────────────────────────────────────────────────────────────────────────────

TEST(simulation, actors_run_on_its_thread_wherever_they_are_placed) {
  class where : public actor {
   public:
    explicit where(std::set<std::thread::id>& on) : on_(on) {}
    void on(begin) { on_.insert(std::this_thread::get_id()); }

   private:
    std::set<std::thread::id>& on_;
  };
  simulation sim(1);
  std::set<std::thread::id> on;
  {
    troupe::system system({.workers = 4, .dispatchers = {{.name = "slow", .workers = 2}}});
    pump pump(system);
    serial_group group(system);
    std::vector<ref<where>> all;
    all.push_back(system.spawn<where>(on));
    all.push_back(system.spawn<where>({.where = own_thread}, on));
    all.push_back(system.spawn<where>({.dispatcher = "slow"}, on));
    all.push_back(system.spawn<where>({.group = group}, on));
    all.push_back(system.spawn<where>({.where = bound_to(pump)}, on));
    EXPECT_THROW((void)system.spawn<where>({.dispatcher = "fast"}, on), std::invalid_argument);
    for (const auto& each : all) each.send(begin{});
    sim.run_until_idle();
    pump.run_until_idle();
    EXPECT_EQ(system.statistics().messages_handled, 5u);
    EXPECT_EQ(system.statistics().pool_threads, 0u);
  }
  EXPECT_THAT(on, ElementsAre(std::this_thread::get_id()));
}

TEST(simulation, a_system_ends_in_the_same_order_wherever_its_actors_lie) {
  const auto run = [] {
    simulation sim(3);
    {
      troupe::system system;
      std::vector<ref<adder>> all;
      for (int i = 0; i < 5; ++i) all.push_back(system.spawn<adder>());
      sim.run_until_idle();
    }
    return sim.trace();
  };
  const std::string before = run();
  {
    // Slots are released in another order.
    troupe::system system;
    std::vector<ref<adder>> all;
    for (int i = 0; i < 9; ++i) all.push_back(system.spawn<adder>());
    for (const std::size_t i : {4u, 7u, 0u, 2u}) {
      all[i].stop();
      EXPECT_EQ(all[i].join(), exit_reason::stopped);
      all[i] = {};
    }
  }
  EXPECT_EQ(run(), before);
}

// ── Failures ──────────────────────────────────────────────────────────────────────────────────

TEST(simulation, a_failed_actor_is_restarted_after_its_backoff) {
  class fragile : public actor {
   public:
    explicit fragile(std::vector<time_point>* made) { made->push_back(clock::now()); }
    void on(begin) { throw std::runtime_error("on purpose"); }
  };
  simulation sim(1);
  std::vector<time_point> made;
  troupe::system system({.on_failure = [](const failure&) {}});
  const auto boss = system.spawn<supervisor>(
      supervision{
          .max_restarts = 10, .within = 1h, .min_backoff = 10s, .max_backoff = 1h, .jitter = 0},
      child<fragile>("fragile", &made));
  const auto one = *boss.ask<find_child<fragile>>(1s, "fragile").get();
  sim.run_until_idle();
  for (int i = 0; i < 3; ++i) {
    one.send(begin{});
    sim.advance(2min);
  }
  ASSERT_EQ(made.size(), 4u);
  EXPECT_EQ((made[1] - made[0] + 500ms) / 1s, 10);
  EXPECT_EQ((made[2] - made[1] + 500ms) / 1s, 130);  // two minutes, and the doubled backoff
  boss.stop();
  EXPECT_EQ(boss.join(), exit_reason::stopped);
}

TEST(simulation, the_trace_names_the_receiver_of_each_message) {
  simulation sim(1);
  std::vector<std::string> told;
  {
    troupe::system system;
    const auto it = system.spawn<scribe>(told);
    it.send(say{"x"});
    sim.run_until_idle();
    it.stop();
    EXPECT_EQ(it.join(), exit_reason::stopped);
  }
  const std::string trace = sim.trace();
  EXPECT_THAT(trace, HasSubstr("#1 sim::(anonymous namespace)::scribe  started\n"));
  EXPECT_THAT(trace, HasSubstr("handles  sim::(anonymous namespace)::say\n"));
  EXPECT_THAT(trace, HasSubstr("ended  stopped\n"));
  EXPECT_EQ(trace.find("0x"), std::string::npos);
}

TEST(normal_name, is_the_same_whatever_compiler_wrote_it) {
  EXPECT_EQ(normal_name("a::{anonymous}::b"), normal_name("a::(anonymous namespace)::b"));
  EXPECT_EQ(normal_name("f()::<lambda(troupe::context&)>"), "f()::(lambda)");
  EXPECT_EQ(normal_name("troupe::a<troupe::b, mytroupe::c, x::troupe::d>"),
            "a<b, mytroupe::c, x::troupe::d>");
  EXPECT_EQ(normal_name("(lambda at x.cpp:1:2)"), "(lambda)");
  EXPECT_EQ(normal_name("a<b<int> >"), "a<b<int>>");
}

TEST(simulation, here_returns_the_simulation_of_the_calling_thread) {
  EXPECT_EQ(simulation::here(), nullptr);
  {
    simulation sim(1);
    EXPECT_EQ(simulation::here(), &sim);
    std::thread([] { EXPECT_EQ(simulation::here(), nullptr); }).join();
  }
  EXPECT_EQ(simulation::here(), nullptr);
}

TEST(simulation, a_thread_has_at_most_one_simulation) {
  simulation sim(1);
  EXPECT_THROW(simulation(2), std::logic_error);
  std::thread([] { simulation other(2); }).join();
}

TEST(simulation, time_is_the_clocks_again_afterwards) {
  { simulation sim(1); }
  // One monotonic clock reads all three: a reading of another clock would have to fall in between.
  const time_point before = std::chrono::steady_clock::now();
  const time_point now = clock::now();
  const time_point after = std::chrono::steady_clock::now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

}  // namespace
}  // namespace troupe::sim
