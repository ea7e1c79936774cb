// SPDX-License-Identifier: Apache-2.0
#include <troupe/testkit/look.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/sim/simulation.hpp>

namespace troupe::testkit {
namespace {

using namespace std::chrono_literals;

struct deposit {
  int cents;
};
struct balance {};

class account : public actor {
 public:
  void on(deposit m) { cents_ += m.cents; }
  int on(balance) const { return cents_; }
  [[nodiscard]] int cents() const { return cents_; }

 private:
  int cents_ = 0;
};

TEST(look, sees_an_actor_between_turns) {
  sim::simulation sim(1);
  troupe::system system;
  const auto alice = system.spawn<account>();
  EXPECT_EQ(look(alice, &account::cents), 0);
  alice.send(deposit{7});
  EXPECT_EQ(look(alice, &account::cents), 0);
  sim.run_until_idle();
  EXPECT_EQ(look(alice, [](const account& a) { return std::to_string(a.cents()); }), "7");
}

TEST(look, sees_nothing_of_an_actor_that_has_ended) {
  sim::simulation sim(1);
  ref<account> alice;
  {
    troupe::system system;
    alice = system.spawn<account>();
    alice.stop();
    sim.run_until_idle();
    EXPECT_EQ(look(alice, &account::cents), std::nullopt);
  }
  EXPECT_EQ(look(alice, &account::cents), std::nullopt);
}

TEST(look, is_for_simulations) {
  troupe::system system({.workers = 1});
  const auto alice = system.spawn<account>();
  EXPECT_THROW((void)look(alice, &account::cents), std::logic_error);
  // A simulation on this thread does not help: the actor does not belong to it.
  sim::simulation sim(1);
  EXPECT_THROW((void)look(alice, &account::cents), std::logic_error);
}

struct peep {};
class curious : public actor {
 public:
  explicit curious(ref<account> at) : at_(std::move(at)) {}
  bool on(peep) {
    try {
      (void)look(at_, &account::cents);
    } catch (const std::logic_error&) {
      return true;
    }
    return false;
  }

 private:
  const ref<account> at_;
};

TEST(look, is_not_for_handlers) {
  sim::simulation sim(1);
  troupe::system system;
  const auto alice = system.spawn<account>();
  EXPECT_TRUE(*system.spawn<curious>(alice).ask<peep>(5s).get());
}

// Blocks in its handler, so that other actors run within it.
class blocking_asker : public actor {
 public:
  explicit blocking_asker(ref<account> of) : of_(std::move(of)) {}
  int on(peep) { return *of_.ask<balance>(5s).get(); }

 private:
  const ref<account> of_;
};

TEST(look, can_be_used_in_invariants) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    sim::simulation sim(seed);
    troupe::system system;
    const auto alice = system.spawn<account>();
    int looks = 0;
    sim.always("nobody owes", [&] {
      ++looks;
      return look(alice, &account::cents).value_or(0) >= 0;
    });
    alice.send(deposit{5});
    EXPECT_EQ(*system.spawn<blocking_asker>(alice).ask<peep>(5s).get(), 5);
    EXPECT_NO_THROW(sim.check());
    EXPECT_GT(looks, 2);
    alice.send(deposit{-6});
    EXPECT_THROW((void)sim.run_until_idle(), sim::broken_invariant);
  }
}

}  // namespace
}  // namespace troupe::testkit
