// SPDX-License-Identifier: Apache-2.0
// Requests through recipients, completions of other libraries, and blocking pools in simulations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <troupe/actor/blocking_pool.hpp>
#include <troupe/actor/callback.hpp>
#include <troupe/actor/function_actor.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/sim/simulation.hpp>
#include <troupe/supervision/router.hpp>

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct square {
  int of;
};
struct begin {};

class squarer : public actor {
 public:
  int on(square m) { return m.of * m.of; }
};

// Asks the same question of an actor, of a function actor and of a router.
class asker : public actor {
 public:
  using one = recipient<int(square)>;
  asker(std::vector<one> whom, std::vector<std::string>& log) : whom_(std::move(whom)), log_(log) {}
  task<> on(begin) {
    for (const one& each : whom_) {
      const auto got = co_await each.ask<square>(1h, 3);
      log_.push_back(got ? std::to_string(*got) : got.message());
    }
  }

 private:
  const std::vector<one> whom_;
  std::vector<std::string>& log_;
};

TEST(simulation, runs_requests_through_recipients) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<std::string> log;
    simulation sim(seed);
    {
      troupe::system system;
      const auto function = system.spawn<int(square)>([](context& self) -> task<> {
        for (;;) {
          auto asked = co_await self.receive<int(square)>();
          asked.owed.set_value(asked.message.of);
        }
      });
      const auto silent = system.spawn<int(square), begin>(
          [](context& self) -> task<> { (void)co_await self.receive<begin>(); });
      const auto workers = router<int(square)>::spawn<squarer>(system, 2, round_robin{});
      const auto who = system.spawn<asker>(
          std::vector<asker::one>{system.spawn<squarer>(), function, workers.handle(), silent},
          log);
      who.send(begin{});
      EXPECT_TRUE(sim.run_until([&] { return log.size() == 4; }, 2h));
    }
    EXPECT_THAT(log, ElementsAre("9", "3", "9", "timeout"));
  }
}

// An actor that uses a blocking pool and completions, and logs the order of what happens.
class user : public actor {
 public:
  user(blocking_pool pool, std::deque<completion<int>>& pending, std::string name,
       std::vector<std::string>& log)
      : pool_(std::move(pool)), pending_(pending), name_(std::move(name)), log_(log) {}
  task<> on(begin) {
    for (int i = 0; i < 3; ++i) {
      const auto got = co_await pool_.run(1h, [this, i] {
        log_.push_back(name_ + " runs " + std::to_string(i));
        return i;
      });
      log_.push_back(name_ + " has " + std::to_string(*got));
    }
    const auto last = co_await callback<int>(
        1min, [this](completion<int> done) { pending_.push_back(std::move(done)); });
    log_.push_back(name_ + (last ? " completed" : " " + last.message()));
    stop();
  }

 private:
  const blocking_pool pool_;
  std::deque<completion<int>>& pending_;
  const std::string name_;
  std::vector<std::string>& log_;
};

std::vector<std::string> used_with(std::uint64_t seed, bool completes) {
  std::vector<std::string> log;
  std::deque<completion<int>> pending;
  simulation sim(seed);
  {
    troupe::system system;
    {
      const blocking_pool pool(system, {.threads = 2});
      for (const char* name : {"a", "b", "c"}) {
        system.spawn<user>(pool, pending, name, log).send(begin{});
      }
    }
    EXPECT_TRUE(sim.run_until([&] { return pending.size() == 3; }, 1h));
    if (completes) {
      for (const auto& each : pending) each(1);
    }
    system.join_all();
  }
  return log;
}

TEST(simulation, runs_a_blocking_pool_and_completions_the_same_way_with_the_same_seed) {
  std::set<std::vector<std::string>> orders;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const auto log = used_with(seed, true);
    EXPECT_EQ(log, used_with(seed, true));
    EXPECT_EQ(log.size(), 3u * 7u);
    orders.insert(log);
  }
  EXPECT_GT(orders.size(), 1u) << "the seed determines the order";
}

TEST(simulation, a_completion_that_never_comes_times_out_in_simulated_time) {
  const auto log = used_with(1, false);
  ASSERT_EQ(log.size(), 3u * 7u);
  EXPECT_THAT(log, testing::Contains("b timeout"));
}

}  // namespace
}  // namespace troupe::sim
