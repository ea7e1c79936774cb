// SPDX-License-Identifier: Apache-2.0
#include <troupe/sim/explore.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <chrono>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <troupe/actor/ref.hpp>
#include <troupe/actor/system.hpp>

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct take {
  int cents;
};
struct give {
  int cents;
};

// Uses a stale value across two turns: a planted bug.
class careless_account : public actor {
 public:
  explicit careless_account(int& cents) : cents_(cents) {}
  void on(take m) {
    self(this).send(give{cents_ - m.cents});  // the new balance is written in another turn
  }
  void on(give m) { cents_ = m.cents; }

 private:
  int& cents_;
};

void take_twice(simulation& sim) {
  int cents = 100;
  troupe::system system;
  const auto account = system.spawn<careless_account>(cents);
  account.send(take{10});
  account.send_after(1ms, take{10});
  account.send_after(1ms, take{10});
  sim.advance(10ms);
  if (cents != 70) throw std::runtime_error("money came or went");
}

TEST(explore, runs_all_seeds_if_none_fails) {
  const explored all = explore({.seeds = 50}, [](simulation& sim) {
    troupe::system system;
    int cents = 100;
    const auto account = system.spawn<careless_account>(cents);
    account.send(take{10});
    sim.run_until_idle();
    if (cents != 90) throw std::runtime_error("money came or went");
  });
  EXPECT_TRUE(all) << all.text();
  EXPECT_EQ(all.runs, 50u);
  EXPECT_THAT(all.text(), HasSubstr("50"));
}

TEST(explore, reports_the_number_of_non_default_choices) {
  const auto report_of = [](std::size_t chosen) {
    explored all{.runs = 2, .failure = failed_run{.trace = "a line\n"}};
    all.failure->chosen = chosen;
    all.failure->chosen_at_first = 120;
    return all.text();
  };
  EXPECT_THAT(report_of(1),
              HasSubstr("Simplest failing run: 1 non-default choice (120 in the original run)."));
  EXPECT_THAT(report_of(0), HasSubstr("0 non-default choices (120 in the original run)."));
  EXPECT_THAT(report_of(2),
              HasSubstr("Simplest failing run: 2 non-default choices (120 in the original run)."));
}

TEST(explore, finds_a_failing_seed_and_a_simpler_run_that_fails_the_same_way) {
  const explored all = explore({.seeds = 1'000, .processes = 2}, take_twice);
  ASSERT_FALSE(all);
  const failed_run& found = *all.failure;
  EXPECT_THAT(found.why, HasSubstr("money came or went"));
  EXPECT_LE(found.chosen, found.chosen_at_first);
  EXPECT_THAT(found.trace, HasSubstr("handles  sim::(anonymous namespace)::take"));
  EXPECT_THAT(all.text(), HasSubstr("TROUPE_SIM_SEED=" + std::to_string(found.seed)));
  // The simplest log still fails, and so does the seed.
  {
    simulation again(found.log);
    EXPECT_THROW(take_twice(again), std::runtime_error);
    EXPECT_EQ(again.trace(), found.trace);
  }
  {
    simulation again(found.seed);
    EXPECT_THROW(take_twice(again), std::runtime_error);
  }
  std::ifstream file(found.log_file);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(text, found.log_text);
  EXPECT_EQ(choice_log::parse(text).choices, found.log.choices);
  std::filesystem::remove(found.log_file);
}

TEST(explore, a_broken_invariant_is_a_failure) {
  const explored all = explore({.seeds = 1'000, .shrinks = 20}, [](simulation& sim) {
    int cents = 100;
    sim.always("money is conserved", [&] { return cents == 100 || cents == 90 || cents == 80; });
    troupe::system system;
    const auto account = system.spawn<careless_account>(cents);
    for (int i = 0; i < 3; ++i) account.send(take{10});
    sim.run_until_idle();
    cents = 100;
    account.send(give{1});
    sim.run_until_idle();
  });
  ASSERT_FALSE(all);
  EXPECT_THAT(all.failure->why, HasSubstr("\"money is conserved\" is not true after turn"));
  std::filesystem::remove(all.failure->log_file);
}

TEST(explore, a_run_that_kills_its_process_or_never_ends_is_a_failure) {
  const explored crashed =
      explore({.first_seed = 5, .seeds = 3}, [](simulation&) { std::abort(); });
  ASSERT_FALSE(crashed);
  EXPECT_THAT(crashed.failure->why, HasSubstr("terminated its process"));
  EXPECT_GE(crashed.failure->seed, 5u);
  const explored endless = explore({.seeds = 1, .longest_run = 1s}, [](simulation& sim) {
    for (;;) sim.run_until_idle();
  });
  ASSERT_FALSE(endless);
  EXPECT_THAT(endless.failure->why, HasSubstr("the time limit of a run"));
}

TEST(explore, a_run_that_ignores_its_alarm_is_killed_from_outside) {
  const explored deaf = explore({.seeds = 1, .longest_run = 1s}, [](simulation&) {
    std::signal(SIGALRM, SIG_IGN);
    for (;;) ::pause();
  });
  ASSERT_FALSE(deaf);
  EXPECT_THAT(deaf.failure->why, HasSubstr("the time limit of a run"));
}

TEST(explore, a_run_that_ends_its_process_leaves_its_log_and_is_made_simpler) {
  for (const bool by_abort : {true, false}) {
    const explored all = explore({.seeds = 50}, [&](simulation& sim) {
      std::size_t sum = 0;
      for (int i = 0; i < 20; ++i) sum += sim.choose(3, "how much");
      if (sum < 15) return;
      if (by_abort) std::abort();
      ::raise(SIGFPE);
    });
    ASSERT_FALSE(all);
    EXPECT_THAT(all.failure->why, HasSubstr("terminated its process"));
    EXPECT_THAT(all.failure->log_text, HasSubstr("how much"));
    EXPECT_FALSE(all.failure->log_file.empty());
    std::size_t sum = 0;
    for (const auto& each : all.failure->log.choices) sum += each.chosen;
    EXPECT_GE(sum, 15u);
    EXPECT_LE(all.failure->chosen, all.failure->chosen_at_first);
    std::filesystem::remove(all.failure->log_file);
  }
}

TEST(explore, a_run_that_leaves_the_process_as_if_all_was_well_is_a_failure) {
  const explored all = explore({.seeds = 10}, [](simulation&) { std::exit(0); });
  ASSERT_FALSE(all);
  EXPECT_THAT(all.failure->why, HasSubstr("exited its process with status 0"));
}

TEST(explore, may_start_with_the_largest_seed) {
  const explored all = explore({.first_seed = UINT64_MAX, .seeds = 3}, [](simulation& sim) {
    if (sim.seed() == 1) throw std::runtime_error("the third one");
  });
  ASSERT_FALSE(all);
  EXPECT_EQ(all.failure->seed, 1u);
}

TEST(explore, is_not_called_within_a_simulation) {
  simulation sim(1);
  EXPECT_THROW((void)explore({.seeds = 1}, [](simulation&) {}), std::logic_error);
}

TEST(explore, with_a_seed_in_the_environment_runs_once_and_rethrows) {
  ::setenv("TROUPE_SIM_SEED", "42", 1);
  std::uint64_t seed = 0;
  const explored one = explore({.seeds = 1'000}, [&](simulation& sim) { seed = sim.seed(); });
  EXPECT_EQ(one.runs, 1u);
  EXPECT_EQ(seed, 42u);
  EXPECT_THROW((void)explore({}, [](simulation&) { throw std::logic_error("seen"); }),
               std::logic_error);
  ::setenv("TROUPE_SIM_SEED", "forty-two", 1);
  EXPECT_THROW((void)explore({}, [](simulation&) {}), std::invalid_argument);
  ::unsetenv("TROUPE_SIM_SEED");
  ::setenv("TROUPE_SIM_LOG", "/nowhere/to/be/found", 1);
  EXPECT_THROW((void)explore({}, [](simulation&) {}), std::invalid_argument);
  ::unsetenv("TROUPE_SIM_LOG");
}

TEST(simulation, reports_a_broken_invariant_once_with_the_seed_and_the_trace) {
  simulation sim(3, {.writes_log = false});
  int cents = 100;
  troupe::system system;
  const auto account = system.spawn<careless_account>(cents);
  sim.always("there is money", [&] { return cents > 0; });
  account.send(give{-1});
  try {
    sim.run_until_idle();
    ADD_FAILURE() << "nothing was told";
  } catch (const broken_invariant& e) {
    EXPECT_EQ(e.name(), "there is money");
    EXPECT_THAT(e.what(), HasSubstr("the seed 3"));
    EXPECT_THAT(e.what(), HasSubstr("handles  sim::(anonymous namespace)::give"));
  }
  account.send(give{-1});
  EXPECT_NO_THROW(sim.run_until_idle()) << "it is not true yet, and told already";
  cents = 1;
  sim.check();
  sim.always("that throws", []() -> bool { throw std::runtime_error("no idea"); });
  EXPECT_THROW(sim.check(), broken_invariant);
}

}  // namespace
}  // namespace troupe::sim
