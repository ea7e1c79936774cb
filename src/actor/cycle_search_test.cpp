// SPDX-License-Identifier: Apache-2.0
// When a search starts by itself. The hours are only counted, never waited for.
#include "cycle_search.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>

#include "runtime.hpp"

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

/// A search of its own, for a system that has no such actors and does not search.
class cycle_search_schedule : public testing::Test {
 protected:
  troupe::system system_{{.workers = 1, .cycle_search = 0s}};
  detail::cycle_search search_{detail::system_access::of(system_)};

  /// Runs the search that is due then; returns how long after it the next one is.
  duration pause_after(time_point due) {
    const time_point before = clock::now();
    const time_point next = search_.look(due);
    const time_point after = clock::now();
    EXPECT_LE(after - before, 1min) << "too slow to tell hours apart";
    return std::chrono::round<std::chrono::hours>(next - before);
  }
};

TEST_F(cycle_search_schedule, is_not_due_while_no_living_actor_lists_references) {
  search_.start(1h);
  EXPECT_EQ(search_.look(clock::now() + 24h), time_point::max());
  EXPECT_TRUE(search_.spawned());
  search_.ended();
  const time_point due = search_.look(clock::now());
  EXPECT_NE(due, time_point::max());
  EXPECT_EQ(search_.look(due), time_point::max());
}

TEST_F(cycle_search_schedule, needs_a_wake_up_for_the_first_new_actor_only) {
  search_.start(1h);
  EXPECT_TRUE(search_.spawned());
  const time_point now = clock::now();
  EXPECT_EQ(search_.look(now), now + 1h);
  EXPECT_FALSE(search_.spawned()) << "one is expected already";
  EXPECT_EQ(search_.look(now + 1min), now + 1h);
  (void)search_.look(now + 1h);
  EXPECT_TRUE(search_.spawned());
}

TEST_F(cycle_search_schedule, backs_off_while_it_finds_nothing) {
  search_.start(1h);
  (void)search_.spawned();
  const time_point first = search_.look(clock::now());
  EXPECT_EQ(pause_after(first), 2h);
  EXPECT_EQ(pause_after(first + 2h), 4h);
  EXPECT_EQ(pause_after(first + 6h), 8h);
  for (int i = 0; i < 10; ++i) (void)pause_after(first + 24h * 365 * (i + 1));
  EXPECT_EQ(pause_after(first + 24h * 365 * 20), 64h);
}

TEST_F(cycle_search_schedule, returns_to_its_first_interval_when_an_actor_is_spawned) {
  search_.start(1h);
  (void)search_.spawned();
  const time_point first = search_.look(clock::now());
  EXPECT_EQ(pause_after(first), 2h);
  EXPECT_EQ(pause_after(first + 2h), 4h);
  const time_point now = clock::now();
  EXPECT_TRUE(search_.spawned());
  EXPECT_EQ(search_.look(now), now + 1h);
}

TEST_F(cycle_search_schedule, is_never_due_without_an_interval) {
  search_.start(0s);
  EXPECT_FALSE(search_.spawned());
  EXPECT_EQ(search_.look(clock::now() + 24h), time_point::max());
}

}  // namespace
}  // namespace troupe::test
