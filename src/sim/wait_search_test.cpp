// SPDX-License-Identifier: Apache-2.0
// A wait cycle that takes more than one slice to find: in a simulation, without a thread.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/statistics.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/sim/simulation.hpp>

namespace troupe::sim {
namespace {

struct flood {};
struct water {};

/// Sends two messages to the next one when it is told to: more than its mailbox holds.
class member : public actor {
 public:
  explicit member(std::size_t& handled) : handled_(handled) {}
  void on(const ref<member>& next) { next_ = next; }
  void on(flood) {
    next_.send(water{});
    next_.send(water{});
  }
  void on(water) { ++handled_; }

 private:
  ref<member> next_;
  std::size_t& handled_;
};

TEST(wait_search, of_a_large_ring_runs_in_the_turn_that_completes_the_ring) {
  constexpr std::size_t members = 5'000;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    simulation sim(seed);
    troupe::system system;
    std::size_t handled = 0;
    std::vector<ref<member>> all;
    for (std::size_t i = 0; i < members; ++i) {
      all.push_back(system.spawn<member>(spawn_options{.max_messages = 1}, handled));
    }
    for (std::size_t i = 0; i < members; ++i) all[i].send(all[(i + 1) % members]);
    sim.run_until_idle();
    for (const auto& each : all) each.send(flood{});
    sim.run_until_idle();
    EXPECT_EQ(handled, 2 * members);
    EXPECT_EQ(system.statistics().senders_paused, 0u);
    EXPECT_EQ(system.statistics().messages_refused, 0u);
    for (const auto& each : all) each.send(ref<member>{});
    sim.run_until_idle();
  }
}

}  // namespace
}  // namespace troupe::sim
