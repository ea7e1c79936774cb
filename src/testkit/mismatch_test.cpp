// SPDX-License-Identifier: Apache-2.0
#include <troupe/testkit/mismatch.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <source_location>
#include <string>

#include <troupe/actor/system.hpp>
#include <troupe/sim/explore.hpp>
#include <troupe/sim/simulation.hpp>
#include <troupe/testkit/probe.hpp>

#include "both_test.hpp"

namespace troupe::testkit {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

struct pay {};
struct refund {};

TEST(mismatch, without_a_hook_it_is_thrown_with_its_place) {
  struct without_hook {
    const mismatch_hook before = on_mismatch(nullptr);
    ~without_hook() { on_mismatch(before); }
  } const scope;
  const auto here = std::source_location::current();
  try {
    fail("a", "b", here);
  } catch (const expectation_failed& e) {
    EXPECT_EQ(e.what(), std::string(here.file_name()) + ':' + std::to_string(here.line()) +
                            ": expected a; got b");
    EXPECT_EQ(e.details().text(), "expected a; got b");
    EXPECT_EQ(e.details().seed, std::nullopt);
    return;
  }
  FAIL();
}

TEST(mismatch, in_a_simulation_it_has_the_seed_and_the_end_of_the_trace) {
  sim::simulation sim(4711);
  troupe::system system;
  probe<pay, refund> p(system, {.name = "till"});
  for (int i = 0; i < 50; ++i) p.ref().send(pay{});
  sim.run_until_idle();
  const mismatch what = mismatch_of([&] { (void)p.expect<refund>(1s); });
  EXPECT_EQ(what.seed, 4711u);
  EXPECT_EQ(std::count(what.trace.begin(), what.trace.end(), '\n'), 20);
  EXPECT_THAT(what.trace, HasSubstr("#1 till  "));
  EXPECT_TRUE(sim.trace().ends_with(what.trace));
  EXPECT_THAT(what.text(), HasSubstr("in a simulation with the seed 4711 (TROUPE_SIM_SEED)"));
  EXPECT_THAT(what.what(), Not(HasSubstr("4711")));
}

TEST(mismatch, a_hook_is_called_and_may_return) {
  static std::string told;
  struct with_hook {
    const mismatch_hook before = on_mismatch([](const mismatch& m) { told = m.text(); });
    ~with_hook() { on_mismatch(before); }
  } const scope;
  EXPECT_THROW(fail("a", "b"), expectation_failed);
  EXPECT_EQ(told, "expected a; got b");
}

TEST(mismatch, runs_that_fail_in_the_same_way_are_made_simpler) {
  struct without_hook {
    const mismatch_hook before = on_mismatch(nullptr);
    ~without_hook() { on_mismatch(before); }
  } const scope;
  const auto all = sim::explore({.seeds = 100, .processes = 1}, [](sim::simulation&) {
    troupe::system system;
    probe<pay, refund> p(system);
    class sender : public actor {
     public:
      explicit sender(recipient<pay, refund> to, bool pays) : to_(std::move(to)), pays_(pays) {}
      void on(int left) {
        if (left != 0) {
          self(this).send(left - 1);
        } else if (pays_) {
          to_.send(pay{});
        } else {
          to_.send(refund{});
        }
      }

     private:
      const recipient<pay, refund> to_;
      const bool pays_;
    };
    system.spawn<sender>(p, true).send(3);
    system.spawn<sender>(p, false).send(3);
    p.expect<pay>();
    p.expect<refund>();
  });
  ASSERT_FALSE(all);
  EXPECT_THAT(all.failure->why, HasSubstr("mismatch_test.cpp:"));
  EXPECT_LT(all.failure->chosen, all.failure->chosen_at_first);
}

TEST(mismatch, durations_are_shown_in_their_largest_whole_unit) {
  EXPECT_EQ(detail::to_text(2h), "2 h");
  EXPECT_EQ(detail::to_text(90min), "90 min");
  EXPECT_EQ(detail::to_text(5s), "5 s");
  EXPECT_EQ(detail::to_text(1500ms), "1500 ms");
  EXPECT_EQ(detail::to_text(3us), "3 us");
  EXPECT_EQ(detail::to_text(7ns), "7 ns");
  EXPECT_EQ(detail::to_text(0ns), "0 ns");
}

}  // namespace
}  // namespace troupe::testkit
