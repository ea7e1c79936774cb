// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <actor/memory_budget.hpp>
#include <checker/check.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::require;

TEST(memory_budget, an_addition_and_a_removal_leave_the_flag_down) {
  expect_holds([] {
    atomic<bool> is_over{false};
    memory_budget budget{100, is_over};
    {
      jthread other([&] { budget.add(-100); });
      budget.add(100);
    }
    require(!is_over.load(relaxed), "nothing waits any more");
  });
}

TEST(memory_budget, concurrent_changes_above_the_limit_leave_the_flag_raised) {
  expect_holds([] {
    atomic<bool> is_over{false};
    memory_budget budget{100, is_over};
    budget.start(100);
    budget.add(100);
    {
      jthread other([&] { budget.add(-50); });
      budget.add(50);
    }
    require(is_over.load(relaxed), "as much waits as before");
  });
}

TEST(memory_budget, the_last_of_three_updates_sets_the_flag_correctly) {
  expect_holds({.random = 10'000}, [] {
    atomic<bool> is_over{false};
    memory_budget budget{100, is_over};
    {
      jthread one([&] {
        budget.add(100);
        budget.add(-100);
      });
      jthread other([&] { budget.add(50); });
      budget.add(-50);
    }
    require(!is_over.load(relaxed), "nothing waits any more");
  });
}

}  // namespace
}  // namespace troupe::detail
