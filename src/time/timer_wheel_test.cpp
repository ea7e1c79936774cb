// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <troupe/detail/time/timer_wheel.hpp>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr duration tick = timer_wheel::tick;
const time_point start{1000h};  // need not be a whole number of ticks

struct timer : timer_node {
  explicit timer(int n) : number(n) {}
  int number;
};

/// A wheel, a hundred timers, and the numbers of those that fire.
class rig {
 public:
  rig() {
    for (int i = 0; i < 100; ++i) timers.push_back(std::make_unique<timer>(i));
  }
  ~rig() {
    for (const auto& one : timers) wheel.remove(*one);
  }

  timer& operator[](std::size_t i) { return *timers[i]; }
  std::vector<int> advance(time_point now) {
    std::vector<int> numbers;
    const std::size_t count =
        wheel
            .advance(now,
                     [&](timer_node& node) { numbers.push_back(static_cast<timer&>(node).number); })
            .fired;
    EXPECT_EQ(count, numbers.size());
    return numbers;
  }

  timer_wheel wheel{start};
  std::vector<std::unique_ptr<timer>> timers;
};

using fired = std::vector<int>;

TEST(timer_wheel, empty) {
  rig r;
  EXPECT_EQ(r.wheel.size(), 0u);
  EXPECT_EQ(r.wheel.next_expiry(), std::nullopt);
  EXPECT_EQ(r.advance(start + 1000h), fired{});
  EXPECT_EQ(r.advance(time_point::max()), fired{});
}

TEST(timer_wheel, never_fires_early_and_at_most_a_tick_late) {
  rig r;
  for (int i = 0; i < 50; ++i) {
    const time_point deadline = start + i * 777us + 1ns;
    r.wheel.insert(r[0], deadline);
    EXPECT_EQ(r.advance(deadline - 1ns), fired{}) << i;
    EXPECT_EQ(r.advance(deadline + tick), fired{0}) << i;
  }
}

TEST(timer_wheel, order) {
  rig r;
  r.wheel.insert(r[0], start + 1h);
  r.wheel.insert(r[1], start + 10ms);
  r.wheel.insert(r[2], start + 1s);
  r.wheel.insert(r[3], start + 10ms);
  r.wheel.insert(r[4], start + 1h);
  EXPECT_EQ(r.advance(start + 2h), (fired{1, 3, 2, 0, 4}));
}

TEST(timer_wheel, timers_of_one_tick_fire_in_the_order_of_insertion_from_whatever_distance) {
  rig r;
  const time_point deadline = start + 3h;
  r.wheel.insert(r[0], deadline);
  r.advance(start + 1h);
  r.wheel.insert(r[1], deadline);
  r.advance(deadline - 1s);
  r.wheel.insert(r[2], deadline);
  r.advance(deadline - 2ms);
  r.wheel.insert(r[3], deadline);
  EXPECT_EQ(r.advance(deadline + tick), (fired{0, 1, 2, 3}));
}

TEST(timer_wheel, stops_at_the_given_number_and_continues_from_there) {
  rig r;
  for (std::size_t i = 0; i < 10; ++i) r.wheel.insert(r[i], start + (i < 6 ? 1 : 500) * tick);
  fired all;
  const auto some = [&](time_point now, std::size_t most) {
    return r.wheel.advance(
        now, [&](timer_node& node) { all.push_back(static_cast<timer&>(node).number); }, most);
  };
  const auto fires = [&](time_point now, std::size_t most) { return some(now, most).fired; };
  const time_point now = start + 400 * tick;
  EXPECT_EQ(fires(now, 4), 4u);
  EXPECT_LE(r.wheel.next_expiry().value(), now) << "there are more";
  r.wheel.insert(r[10], start);
  EXPECT_TRUE(r.wheel.remove(r[4]));
  EXPECT_EQ(fires(now, 0), 0u);
  EXPECT_EQ(fires(now, 4), 2u);
  EXPECT_EQ(all, (fired{0, 1, 2, 3, 5, 10}));
  EXPECT_GT(r.wheel.next_expiry().value(), now);
  // They move down by a level first, which takes one step each.
  const auto came_down = some(now + 200 * tick, 3);
  EXPECT_EQ(came_down.moved, 3u);
  EXPECT_EQ(came_down.fired, 0u);
  EXPECT_EQ(fires(now + 200 * tick, 4), 3u);
  EXPECT_EQ(fires(now + 200 * tick, 4), 1u);
  EXPECT_EQ(all, (fired{0, 1, 2, 3, 5, 10, 6, 7, 8, 9}));
}

// Otherwise all timers that are due meanwhile would wait for it. Other timers are added and removed
// while it moves.
TEST(timer_wheel, a_full_slot_moves_down_a_part_at_a_time_and_keeps_its_order) {
  constexpr std::size_t at_first = 150'000;
  constexpr std::size_t later = 100'000;
  const time_point begin{1'000'000 * tick};
  std::mt19937_64 random(7);
  std::deque<timer> timers;
  std::vector<std::int64_t> due;
  timer_wheel wheel(begin);
  std::int64_t now = 0;  // ticks since `begin`
  const auto add = [&](std::int64_t in) {
    timers.emplace_back(static_cast<int>(timers.size()));
    due.push_back(now + in);
    wheel.insert(timers.back(), begin + (now + in) * tick);
  };
  const auto up_to = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % most); };
  for (std::size_t i = 0; i < at_first; ++i)
    add(i % 10 == 0 ? 1 + up_to(5'000) : 5'000 + up_to(900));

  std::size_t ended = 0;
  std::size_t most_moved = 0;
  std::pair<std::int64_t, int> before;
  while (ended < timers.size()) {
    ++now;
    const auto done = wheel.advance(begin + now * tick, [&](timer_node& node) {
      const int number = static_cast<timer&>(node).number;
      const std::pair it(due[static_cast<std::size_t>(number)], number);
      ASSERT_EQ(it.first, now);
      ASSERT_LT(before, it);
      before = it;
    });
    ended += done.fired;
    most_moved = std::max(most_moved, done.moved);
    for (int i = 0; i < 20 && timers.size() < at_first + later; ++i) add(1 + up_to(6'000 - 1));
    for (int i = 0; i < 4; ++i) ended += wheel.remove(timers[random() % timers.size()]) ? 1 : 0;
  }
  // Several levels may be moving down at the same time.
  EXPECT_LE(most_moved, 2 * 4'096u + 100u);
  EXPECT_GT(most_moved, 2'000u);
}

TEST(timer_wheel, a_deadline_that_has_passed_fires_with_the_next_tick) {
  rig r;
  r.wheel.insert(r[0], start - 1h);
  r.wheel.insert(r[1], time_point::min());
  EXPECT_EQ(r.advance(start), fired{});
  EXPECT_EQ(r.advance(start + tick), (fired{0, 1}));
}

TEST(timer_wheel, time_does_not_run_backwards) {
  rig r;
  r.advance(start + 1h);
  r.wheel.insert(r[0], start + 1h + 1s);
  EXPECT_EQ(r.advance(start), fired{});
  EXPECT_EQ(r.advance(start + 1h + 2s), fired{0});
}

TEST(timer_wheel, a_removed_timer_does_not_fire) {
  rig r;
  r.wheel.insert(r[0], start + 1s);
  r.wheel.insert(r[1], start + 1s);
  EXPECT_EQ(r.wheel.size(), 2u);
  EXPECT_TRUE(r.wheel.remove(r[0]));
  EXPECT_FALSE(r.wheel.remove(r[0]));
  EXPECT_FALSE(r[0].linked());
  EXPECT_EQ(r.advance(start + 2s), fired{1});
  EXPECT_EQ(r.wheel.size(), 0u);
}

TEST(timer_wheel, removing_the_last_timer_of_a_slot_clears_its_expiry) {
  rig r;
  for (const duration in : {duration{1ms}, duration{1s}, duration{1h}, duration{10'000h}}) {
    r.wheel.insert(r[0], start + in);
    EXPECT_NE(r.wheel.next_expiry(), std::nullopt);
    r.wheel.remove(r[0]);
    EXPECT_EQ(r.wheel.next_expiry(), std::nullopt);
  }
}

TEST(timer_wheel, the_farthest_deadline_is_in_reach) {
  rig r;
  r.wheel.insert(r[0], time_point::max());
  r.wheel.insert(r[1], start + 24h * 365 * 100);
  EXPECT_EQ(r.advance(start + 24h * 365 * 100 - 1ns), fired{});
  EXPECT_EQ(r.advance(start + 24h * 365 * 100 + tick), fired{1});
  EXPECT_EQ(r.advance(time_point::max() - 2 * tick), fired{});
  EXPECT_EQ(r.advance(time_point::max()), fired{0});
}

TEST(timer_wheel, next_expiry_is_never_late_and_always_brings_the_deadline_closer) {
  rig r;
  for (const duration in : {duration{1ns}, duration{1ms}, duration{40ms}, duration{3s},
                            duration{5min}, duration{7h}, duration{24h * 400}}) {
    const time_point deadline = start + in;
    timer_wheel wheel{start};
    wheel.insert(r[0], deadline);
    int wakeups = 0;
    bool done = false;
    for (time_point now = start; !done; ++wakeups) {
      const auto next = wheel.next_expiry();
      ASSERT_TRUE(next);
      ASSERT_GT(*next, now);
      ASSERT_LT(*next, deadline + tick);
      now = *next;
      wheel.advance(now, [&](timer_node&) { done = true; });
    }
    EXPECT_LE(wakeups, 8) << in.count();
  }
}

TEST(timer_wheel, a_handler_may_put_its_timer_back) {
  rig r;
  int count = 0;
  r.wheel.insert(r[0], start + 1ms);
  r.wheel.advance(start + 1s, [&](timer_node& node) {
    ++count;
    r.wheel.insert(node, start + count * 100ms);
  });
  EXPECT_EQ(count, 10);  // at 1 ms, and at 100 ms to 900 ms
  EXPECT_EQ(r.wheel.size(), 1u);
}

TEST(timer_wheel, a_timer_that_is_put_back_as_due_ends_no_call) {
  rig r;
  int count = 0;
  r.wheel.insert(r[0], start);
  r.wheel.advance(start + 10 * tick, [&](timer_node& node) {
    ++count;
    r.wheel.insert(node, start);
  });
  EXPECT_GE(count, 9);
  EXPECT_LE(count, 10);
}

TEST(timer_wheel, a_handler_may_remove_others_that_are_due) {
  rig r;
  for (std::size_t i = 0; i < 4; ++i) r.wheel.insert(r[i], start + 1s);
  r.wheel.insert(r[4], start + 2s);
  fired seen;
  r.wheel.advance(start + 3s, [&](timer_node& node) {
    seen.push_back(static_cast<timer&>(node).number);
    r.wheel.remove(r[1]);
    r.wheel.remove(r[3]);
    r.wheel.remove(r[4]);
  });
  EXPECT_EQ(seen, (fired{0, 2}));
}

TEST(timer_wheel, a_handler_may_delete_its_timer) {
  rig r;
  r.wheel.insert(r[7], start + 1s);
  r.wheel.advance(start + 2s, [&](timer_node&) { r.timers.pop_back(); });
  EXPECT_EQ(r.wheel.size(), 0u);
}

TEST(timer_wheel, a_handler_that_throws_loses_no_other_timer) {
  rig r;
  for (std::size_t i = 0; i < 3; ++i) r.wheel.insert(r[i], start + 1s);
  EXPECT_THROW(r.wheel.advance(start + 2s, [](timer_node&) { throw std::runtime_error(""); }),
               std::runtime_error);
  EXPECT_EQ(r.advance(start + 2s), (fired{1, 2}));
}

// The same operations on a wheel and on a map from tick to timers, with deadlines of all distances,
// in and outside handlers.
class model {
 public:
  // `pace` is chosen so that slots with few timers already move down in parts.
  model(unsigned seed, std::size_t timers, unsigned pace) : random_(seed), wheel_(start, pace) {
    for (std::size_t i = 0; i < timers; ++i) {
      timers_.push_back(std::make_unique<timer>(static_cast<int>(i)));
    }
  }
  ~model() {
    for (const auto& one : timers_) wheel_.remove(*one);
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      for (unsigned n = pick(4); n > 0; --n) change();
      advance(now_ + distance());
      ASSERT_EQ(wheel_.size(), due_.size());
      check_next();
    }
  }

 public:
  std::size_t fired() const { return fired_; }

 private:
  using ticks = std::multimap<std::int64_t, timer*>;

  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
  // All orders of magnitude up to about a day are equally likely.
  duration distance() { return duration{static_cast<std::int64_t>(random_() >> (17 + pick(47)))}; }

  static std::int64_t tick_before(time_point at) { return at.time_since_epoch() / tick; }
  static std::int64_t tick_after(time_point at) {
    return (at.time_since_epoch() + tick - 1ns) / tick;
  }

  void change() {
    timer& one = *timers_[pick(static_cast<unsigned>(timers_.size()))];
    const auto known = std::find_if(due_.begin(), due_.end(),
                                    [&](const auto& entry) { return entry.second == &one; });
    ASSERT_EQ(one.linked(), known != due_.end());
    ASSERT_EQ(wheel_.remove(one), known != due_.end());
    if (known != due_.end()) due_.erase(known);
    if (pick(4) == 0) return;
    const time_point deadline = pick(10) == 0 ? now_ - distance() : now_ + distance();
    wheel_.insert(one, deadline);
    due_.emplace(std::max(tick_after(deadline), now_tick_ + 1), &one);
  }

  void advance(time_point now) {
    const std::int64_t target = tick_before(now);
    const auto fired = [&](timer_node& node) {
      ASSERT_FALSE(due_.empty());
      ASSERT_EQ(due_.begin()->second, &static_cast<timer&>(node));
      ASSERT_LE(due_.begin()->first, target);
      now_tick_ = due_.begin()->first;
      due_.erase(due_.begin());
      ++fired_;
      for (unsigned n = pick(3); n > 0; --n) change();
    };
    // All at once, or a few steps at a time.
    for (std::size_t most = pick(2) == 0 ? 1'000'000 : 1 + pick(8);;) {
      const auto done = wheel_.advance(now, fired, most);
      ASSERT_LE(done.steps(), most);
      if (done.steps() < most || testing::Test::HasFatalFailure()) break;
    }
    ASSERT_TRUE(due_.empty() || due_.begin()->first > target);
    now_ = now;
    now_tick_ = target;
  }

  void check_next() {
    const auto next = wheel_.next_expiry();
    ASSERT_EQ(next.has_value(), !due_.empty());
    if (!next) return;
    ASSERT_GT(tick_before(*next), now_tick_);
    ASSERT_LE(tick_before(*next), due_.begin()->first);
  }

  std::size_t fired_ = 0;
  std::mt19937_64 random_;
  time_point now_ = start;
  std::int64_t now_tick_ = tick_before(start);
  timer_wheel wheel_;
  std::vector<std::unique_ptr<timer>> timers_;
  ticks due_;
};

TEST(timer_wheel, behaves_like_a_sorted_map) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::size_t count = 0;
  for (unsigned i = 0; i < 20; ++i) {
    model one(seed + i, 5 + 10 * i, i % 2 == 0 ? 12 : i / 2 % 4);
    one.run(2'000);
    count += one.fired();
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << " + " << i;
  }
  std::cout << count << " timers fired\n";
}

// For a wheel with one timer: the timer must fire neither earlier nor later than in its tick.
// Returns the number of wake-ups.
int wakeups_until_it_fires_at(timer_wheel& wheel, time_point due) {
  int wakeups = 0;
  for (std::size_t count = 0; count == 0; ++wakeups) {
    const time_point next = wheel.next_expiry().value();
    count = wheel.advance(next, [](timer_node&) {}).fired;
    EXPECT_EQ(count, next == due ? 1u : 0u);
    if (next >= due && count == 0) break;  // it is late
  }
  return wakeups;
}

TEST(timer_wheel, every_distance_near_the_reach_of_a_level_fires_in_its_tick) {
  const std::int64_t day = 24h / tick;
  for (std::int64_t first = 64 * day; first < 64 * day + 64; ++first) {
    for (int bits = 6; bits <= 41; bits += 5) {
      for (const std::int64_t off : {-1, 0, 1}) {
        const std::int64_t due = first + (std::int64_t{1} << bits) + off;
        timer_wheel wheel(time_point(first * tick));
        timer one(0);
        wheel.insert(one, time_point(due * tick));
        ASSERT_LE(wakeups_until_it_fires_at(wheel, time_point(due * tick)), 9);
      }
    }
  }
}

TEST(timer_wheel, one_remaining_timer_of_many_fires_in_its_tick) {
  const time_point begin(1'000'000 * tick);
  timer_wheel wheel(begin);
  std::deque<timer> timers;
  for (int i = 0; i < 200'000; ++i) {
    wheel.insert(timers.emplace_back(i), begin + (5'000 + i % 30) * tick);
  }
  for (int i = 1; i < 200'000; ++i) wheel.remove(timers[static_cast<std::size_t>(i)]);
  EXPECT_LE(wakeups_until_it_fires_at(wheel, begin + 5'000 * tick), 4);
}

TEST(timer_wheel, more_than_can_move_in_time_are_not_late) {
  const time_point begin(1'000'000 * tick);
  timer_wheel wheel(begin);
  std::deque<timer> timers;
  for (int i = 0; i < 300'000; ++i) {
    wheel.insert(timers.emplace_back(i), begin + (320 + i % 32) * tick);
  }
  std::size_t all = 0;
  for (std::int64_t now = 1; all < timers.size(); ++now) {
    std::size_t count = 0;
    for (;;) {
      const auto done = wheel.advance(
          begin + now * tick, [](timer_node&) {}, 16);
      count += done.fired;
      if (done.steps() < 16) break;
    }
    ASSERT_EQ(count, now < 320 ? 0u : 300'000u / 32) << now;
    all += count;
  }
}

TEST(timer_wheel, can_be_restarted_at_an_earlier_time) {
  struct node : timer_node {};
  timer_wheel wheel(time_point(std::chrono::hours(24)));
  (void)wheel.advance(time_point(std::chrono::hours(48)), [](timer_node&) {});
  wheel.restart(time_point(std::chrono::hours(1)));
  node one;
  wheel.insert(one, time_point(std::chrono::hours(2)));
  EXPECT_LE(wheel.next_expiry(), time_point(std::chrono::hours(2)) + timer_wheel::tick);
  std::size_t count = 0;
  EXPECT_EQ(wheel.advance(time_point(std::chrono::hours(2)), [&](timer_node&) { ++count; }).fired,
            count);
  (void)wheel.advance(time_point(std::chrono::hours(2)) + 2 * timer_wheel::tick,
                      [&](timer_node&) { ++count; });
  EXPECT_EQ(count, 1u);
}

}  // namespace
}  // namespace troupe
