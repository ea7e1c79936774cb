// SPDX-License-Identifier: Apache-2.0
//
// The pool in a simulation with faults: each job is done exactly once, or reported as given up. A
// second build has a bug planted in pool.hpp, which the simulation must find.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <vector>

#include <troupe/actor/trace.hpp>
#include <troupe/sim/explore.hpp>
#include <troupe/troupe.hpp>

#include "pool.hpp"

namespace {

using namespace std::chrono_literals;
using troupe::sim::simulation;

constexpr int jobs = 12;

void run(simulation& sim) {
  std::vector<int> done(jobs);
  std::vector<int> failed(jobs);
  sim.always("no job is done twice", [&] {
    for (const int each : done) {
      if (each > 1) return false;
    }
    return true;
  });
  troupe::system system({.on_failure =
                             [&](const troupe::failure& f) {
                               if (f.trace != 0) ++failed[f.trace - 1];
                             },
                         .traces = true});
  const pool::all it = pool::open(system, [&](int number) {
    if (sim.fault_occurs(300, "a job fails")) throw std::runtime_error("bad luck");
    ++done[static_cast<std::size_t>(number)];
  });
  sim.inject({.failures_one_in = 500, .pauses_one_in = 100, .pause_max = 50ms});
  sim.inject(it.boss, {});  // the foreman does not fail
  sim.inject(it.top, {});   // nor does the supervisor
  for (int i = 0; i < jobs; ++i) {
    const troupe::trace_scope scope(static_cast<troupe::trace_id>(i + 1));
    it.hands.send(pool::job{i});
  }
  sim.advance(1s);
  sim.end_faults();
  // A job is given up when it has failed twice.
  sim.eventually(
      "each job is done or given up",
      [&] {
        for (std::size_t i = 0; i < jobs; ++i) {
          if (done[i] == 0 && failed[i] < 2) return false;
        }
        return true;
      },
      10s);
}

troupe::sim::explored explore(std::uint64_t seeds) {
  return troupe::sim::explore({.seeds = seeds, .processes = 2}, run);
}

#if defined(TROUPE_PLANTED_BUG)

TEST(worker_pool_with_a_bug, is_found_out) {
  const auto found = explore(10'000);
  ASSERT_FALSE(found);
  std::puts(found.text().c_str());
  EXPECT_NE(found.failure->why.find("each job is done or given up"), std::string::npos);
  EXPECT_LT(found.failure->chosen, found.failure->chosen_at_first);
}

#else

TEST(worker_pool, does_each_job_once_or_names_it) {
  const auto all = explore(2'000);
  EXPECT_TRUE(all) << all.text();
}

#endif

}  // namespace
