// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/scheduler/timeline.hpp>

#include <algorithm>
#include <chrono>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <troupe/detail/scheduler/thread_executor.hpp>
#include <troupe/detail/scheduler/worker_pool.hpp>

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;
using kind = timeline_slice::kind;

constexpr duration never_short{};
constexpr duration always_short = 1h;

constexpr timeline_label first{.actor = "actor", .message = "first"};
constexpr timeline_label second{.actor = "actor", .message = "second"};

// Takes all slices out of the lanes, in the order of the lanes.
std::vector<timeline_slice> slices(timeline& of) {
  std::vector<timeline_slice> all;
  of.for_each_lane([&](timeline_lane& lane, bool) {
    lane.take_all([&](const timeline_slice& slice) { all.push_back(slice); });
  });
  return all;
}

std::vector<kind> kinds(const std::vector<timeline_slice>& those) {
  std::vector<kind> all;
  for (const timeline_slice& each : those) all.push_back(each.what);
  return all;
}

/// A lane that is drawn by the test's thread.
struct drawing {
  explicit drawing(duration shortest) : all(shortest) {}

  timeline all;
  activity counts;
  timeline::lane lane = all.open("thread", counts);
};

TEST(timeline_lane, empty) {
  drawing d(never_short);
  EXPECT_TRUE(slices(d.all).empty());
  EXPECT_FALSE(d.lane->is_running());
  EXPECT_EQ(d.lane->lost(), 0u);
}

TEST(timeline_lane, slices_follow_one_another) {
  drawing d(never_short);
  d.lane->begins(kind::running, 1);
  d.lane->ticked(first, 0);
  d.lane->ticked(second, 0);
  d.lane->begins(kind::searching, 1);
  d.lane->begins(kind::parked, 1);
  d.lane->begins(kind::running, 1);
  d.lane.reset();
  const auto all = slices(d.all);
  ASSERT_EQ(kinds(all), (std::vector{kind::running, kind::running, kind::running, kind::searching,
                                     kind::parked, kind::running}));
  EXPECT_EQ(all[0].label, first);
  EXPECT_EQ(all[1].label, second);
  EXPECT_EQ(all[2].label, second) << "what is left behind the last tick is called the same";
  EXPECT_EQ(all[4].label, timeline_label{});
  EXPECT_EQ(all[5].label, timeline_label{}) << "nobody knows yet what it was woken for";
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i - 1].end, all[i].begin);
}

TEST(timeline_lane, counts_the_messages_of_a_slice) {
  drawing d(never_short);
  d.counts.handled.add(1000);
  d.lane->begins(kind::running, 1);
  d.lane->ticked(first, 3);
  d.counts.handled.add(5);  // three of these were reported as uncounted before
  d.lane->ticked(first, 1);
  const auto all = slices(d.all);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].messages, 1003u) << "those before the lane began to run are in its first slice";
  EXPECT_EQ(all[1].messages, 3u);
}

TEST(timeline_lane, a_short_wait_does_not_end_the_slice) {
  drawing d(always_short);
  d.lane->begins(kind::running, 1);
  d.counts.handled.add(2);
  d.lane->learns(first, 0);
  d.lane->begins(kind::searching, 1);
  EXPECT_FALSE(d.lane->is_running());
  d.lane->begins(kind::parked, 1);
  d.lane->begins(kind::running, 1);
  EXPECT_TRUE(d.lane->is_running());
  EXPECT_TRUE(slices(d.all).empty());
  d.counts.handled.add(2);
  d.lane->ticked(second, 0);
  const auto all = slices(d.all);
  ASSERT_EQ(kinds(all), (std::vector{kind::running}));
  EXPECT_EQ(all[0].messages, 4u);
  EXPECT_GT(all[0].waited, 0ns);
  EXPECT_LE(all[0].waited, all[0].end - all[0].begin);
}

TEST(timeline_lane, frequent_searches_in_a_short_wait_lose_no_slice) {
  drawing d(always_short);
  d.lane->begins(kind::running, 1);
  for (int i = 0; i < 20; ++i) {
    d.lane->begins(kind::searching, 1);
    d.lane->begins(kind::parked, 1);
  }
  d.lane.reset();
  const auto all = slices(d.all);
  EXPECT_EQ(all.size(), 41u);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i - 1].end, all[i].begin);
}

TEST(timeline_lane, requests_a_label_when_a_thread_starts_to_run) {
  drawing d(never_short);
  d.lane->begins(kind::running, 1);
  EXPECT_EQ(d.counts.asked.load(relaxed), activity::label);
}

TEST(timeline_lane, the_first_long_messages_have_their_own_slices) {
  drawing d(never_short);  // so each message counts as long
  d.lane->begins(kind::running, 1);
  d.lane->learns(first, 1);
  d.lane->learns(second, 2);
  const auto all = slices(d.all);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].label, first);
  EXPECT_EQ(all[0].messages, 1u);
  EXPECT_EQ(all[1].label, second);
  EXPECT_EQ(all[1].messages, 1u);
}

TEST(timeline_lane, a_slice_of_short_messages_is_called_by_the_longest) {
  drawing d(always_short);
  const time_point begun = clock::now();
  d.lane->begins(kind::running, 1);
  d.lane->learns(first, 1);
  const time_point between = clock::now();
  while (clock::now() - between <= between - begun) std::this_thread::yield();
  d.lane->learns(second, 2);
  d.counts.handled.add(3);
  d.lane.reset();
  const auto all = slices(d.all);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].label, second);
  EXPECT_EQ(all[0].messages, 3u);
}

TEST(timeline_lane, requests_labels_for_the_first_messages_only) {
  drawing d(always_short);
  d.lane->begins(kind::running, 1);
  int asked = 0;
  while (d.counts.asked.exchange(activity::nothing, relaxed) != activity::nothing) {
    d.lane->learns(first, 0);
    ASSERT_LT(++asked, 1000);
  }
  EXPECT_GT(asked, 1);
}

TEST(timeline_lane, full) {
  drawing d(never_short);
  d.lane->begins(kind::running, 1);
  for (std::size_t i = 0; i < timeline::capacity_usual + 7; ++i) d.lane->ticked(first, 0);
  EXPECT_EQ(d.lane->lost(), 7u);
  EXPECT_EQ(slices(d.all).size(), timeline::capacity_usual);
  d.lane->ticked(first, 0);
  EXPECT_EQ(d.lane->lost(), 7u);
  EXPECT_EQ(slices(d.all).size(), 1u);
}

TEST(timeline_lane, one_to_one) {
  drawing d(never_short);
  constexpr std::uint64_t count = 100'000;
  std::jthread writer([&] {
    d.lane->begins(kind::running, 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      d.counts.handled.add(1);
      d.lane->ticked(first, 0);
    }
    d.lane.reset();
  });
  std::uint64_t taken = 0;
  std::uint64_t lost = 0;
  time_point last{};
  for (bool is_over = false; !is_over;) {
    is_over = true;
    d.all.for_each_lane([&](timeline_lane& lane, bool is_closed) {
      is_over = is_closed;
      lane.take_all([&](const timeline_slice& slice) {
        EXPECT_LE(last, slice.begin);
        EXPECT_LE(slice.begin, slice.end);
        last = slice.end;
        ++taken;
      });
      lost = lane.lost();
    });
  }
  EXPECT_EQ(taken + lost, count + 1);
}

TEST(timeline_lane, cuts_a_slice_where_the_turn_loses_its_worker) {
  drawing d(never_short);
  d.lane->begins(kind::running, 3);
  d.lane->loses_worker();
  d.lane->ticked(first, 0);
  d.lane->begins(kind::resting);
  d.lane.reset();
  const auto all = slices(d.all);
  ASSERT_EQ(kinds(all),
            (std::vector{kind::running, kind::replaced, kind::replaced, kind::resting}));
  EXPECT_EQ(all[0].worker, 3u);
  EXPECT_EQ(all[0].label, first);
  EXPECT_EQ(all[1].worker, 0u);
  EXPECT_EQ(all[1].label, first);
}

TEST(timeline, forgets_the_lanes_that_are_closed) {
  timeline all(never_short);
  activity counts;
  timeline::lane one = all.open("one", counts);
  const timeline::lane other = all.open("other", counts);
  one->begins(kind::parked);
  one.reset();
  const auto names = [&] {
    std::vector<std::string> found;
    all.for_each_lane([&](timeline_lane& lane, bool) { found.push_back(lane.name()); });
    return found;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"one", "other"}));
  EXPECT_EQ(names(), (std::vector<std::string>{"other"}));
}

TEST(timeline, a_tick_asks_only_the_running_threads) {
  timeline all(never_short);
  activity runs;
  activity waits;
  const timeline::lane one = all.open("runs", runs);
  const timeline::lane other = all.open("waits", waits);
  one->begins(kind::running, 1);
  other->begins(kind::parked, 2);
  EXPECT_EQ(all.tick(), 1u);
  EXPECT_EQ(runs.asked.load(relaxed), activity::label | activity::tick);
  EXPECT_EQ(waits.asked.load(relaxed), activity::nothing);
}

// ── The drawing threads ───────────────────────────────────────────────────────────────────────

struct blocker : runnable {
  std::binary_semaphore begun{0};
  std::binary_semaphore go_on{0};

  static turn_result turn(runnable& r, activity& of_thread) noexcept {
    auto& self = static_cast<blocker&>(r);
    of_thread.turns.add(1);
    self.begun.release();
    self.go_on.acquire();
    return turn_result::ended;
  }
};

bool has(const std::vector<timeline_slice>& those, kind what, std::uint32_t worker) {
  return std::any_of(those.begin(), those.end(), [&](const timeline_slice& each) {
    return each.what == what && each.worker == worker;
  });
}

TEST(worker_pool, draws_running_parked_and_replaced_threads) {
  timeline all(never_short);
  blocker slow;
  blocker behind;
  {
    worker_pool pool({.workers = 1, .blocking_threshold = 2ms, .draws = &all}, blocker::turn);
    while (pool.parked() != 1) std::this_thread::yield();
    pool.schedule(slow);
    slow.begun.acquire();
    pool.schedule(behind);
    behind.begun.acquire();  // on another thread, with the same worker
    slow.go_on.release();
    behind.go_on.release();
  }
  const auto found = slices(all);
  EXPECT_TRUE(has(found, kind::running, 1));
  EXPECT_TRUE(has(found, kind::parked, 1));
  EXPECT_TRUE(has(found, kind::replaced, 0));
}

TEST(thread_executor, draws_the_states_of_its_thread) {
  timeline all(never_short);
  blocker one;
  {
    thread_executor own(blocker::turn, activity::never, &all);
    own.start(one, "own");
    own.schedule(one);
    one.begun.acquire();
    one.go_on.release();
    own.retire(one);
  }
  const auto found = slices(all);
  EXPECT_TRUE(has(found, kind::parked, 0));
  EXPECT_TRUE(has(found, kind::running, 0));
}

}  // namespace
}  // namespace troupe::detail
