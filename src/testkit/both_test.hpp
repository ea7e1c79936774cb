// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include <troupe/actor/system.hpp>
#include <troupe/sim/simulation.hpp>
#include <troupe/testkit/mismatch.hpp>

namespace troupe::testkit {

/// Runs the same test in simulations and with threads.
template <class F>
void in_both(F test) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("in a simulation");
    const sim::simulation sim(seed);
    troupe::system system;
    test(system);
  }
  SCOPED_TRACE("with threads");
  troupe::system system({.workers = 2});
  test(system);
}

/// Runs `fails` without a hook and returns the mismatch that it throws. If it throws none, the test
/// fails.
template <class F>
mismatch mismatch_of(F fails) {
  struct without_hook {
    const mismatch_hook before = on_mismatch(nullptr);
    ~without_hook() { on_mismatch(before); }
  } const scope;
  try {
    fails();
  } catch (const expectation_failed& e) {
    return e.details();
  }
  ADD_FAILURE() << "nothing failed";
  return {};
}

}  // namespace troupe::testkit
