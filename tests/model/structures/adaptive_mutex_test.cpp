// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <mutex>
#include <troupe/detail/sync/adaptive_mutex.hpp>

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

TEST(adaptive_mutex, lets_one_in_at_a_time) {
  expect_holds([] {
    adaptive_mutex guard;
    plain<int> value{0};
    const auto add_one = [&] {
      const std::lock_guard lock(guard);
      value = value + 1;
    };
    {
      jthread left("left", add_one);
      jthread right("right", add_one);
    }
    require(value == 2, "both additions count");
  });
}

TEST(adaptive_mutex, wakes_waiters_one_at_a_time) {
  expect_holds({.preemptions = 2, .spurious = 0}, [] {
    adaptive_mutex guard;
    plain<int> value{0};
    const auto add_one = [&] {
      const std::lock_guard lock(guard);
      value = value + 1;
    };
    {
      jthread left("left", add_one);
      jthread right("right", add_one);
      add_one();
    }
    require(value == 3, "all additions count");
  });
}

TEST(adaptive_mutex, try_lock_reports_whether_it_was_acquired) {
  expect_holds([] {
    adaptive_mutex guard;
    plain<int> value{0};
    const auto try_to_add = [&] {
      if (!varies(guard.try_lock(), "it is free")) return;
      value = value + 1;
      guard.unlock();
    };
    jthread left("left", try_to_add);
    jthread right("right", try_to_add);
  });
}

TEST(adaptive_mutex, works_after_a_waiter_gives_up) {
  expect_holds({.timeouts = 1}, [] {
    adaptive_mutex guard;
    plain<int> value{0};
    jthread patient("patient", [&] {
      const std::lock_guard lock(guard);
      value = value + 1;
    });
    jthread hasty("hasty", [&] {
      if (!varies(guard.try_lock_until(time_point{}), "it has it in time")) return;
      value = value + 1;
      guard.unlock();
    });
  });
}

TEST(adaptive_mutex, wakes_another_when_the_one_it_woke_gives_up) {
  expect_holds({.preemptions = 2, .spurious = 0, .timeouts = 1}, [] {
    adaptive_mutex guard;
    plain<int> value{0};
    guard.lock();
    jthread patient("patient", [&] {
      const std::lock_guard lock(guard);
      value = value + 1;
    });
    jthread hasty("hasty", [&] {
      if (!varies(guard.try_lock_until(time_point{}), "it has it in time")) return;
      value = value + 1;
      guard.unlock();
    });
    value = value + 1;
    guard.unlock();
  });
}

TEST(adaptive_mutex, may_be_destroyed_after_its_last_unlock) {
  expect_holds([] {
    struct shared {
      adaptive_mutex guard;
      plain<int> users{2};
    };
    auto* const both = new shared;
    const auto leave = [both] {
      both->guard.lock();
      const int left = both->users - 1;
      both->users = left;
      both->guard.unlock();
      if (left == 0) delete both;
    };
    jthread one("one", leave);
    jthread other("other", leave);
  });
}

}  // namespace
}  // namespace troupe
