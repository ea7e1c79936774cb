// SPDX-License-Identifier: Apache-2.0
#include "wait_table.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <vector>

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

constexpr time_point start = time_point(1h);

// Asks as often as it takes to start the hurried mode; each request is answered at once.
void hurry(wait_table& table, time_point now) {
  waiter who;
  for (std::uint32_t i = 0; i < wait_table::hurry_after; ++i) {
    const waiting_place at = table.add(who, now + 1s);
    const bool hurries = table.looked(now + i * 10us);
    EXPECT_EQ(table.take(at), &who);
    ASSERT_EQ(hurries, i + 1 == wait_table::hurry_after);
  }
}

TEST(wait_table, clock_reads_that_are_rare_do_not_start_hurried_mode) {
  wait_table table;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_FALSE(table.looked(start + i * wait_table::hurry_within / 10));
    EXPECT_FALSE(table.hurries_with(1h));
  }
}

TEST(wait_table, only_long_times_begin_later) {
  wait_table table;
  EXPECT_FALSE(table.hurries_with(wait_table::long_time));
  hurry(table, start);
  EXPECT_TRUE(table.hurries_with(wait_table::long_time));
  EXPECT_FALSE(table.hurries_with(wait_table::long_time - 1ns));
}

TEST(wait_table, a_timeout_that_begins_later_expires_later_by_as_much) {
  wait_table table;
  hurry(table, start);
  waiter exact;
  waiter later;
  (void)table.add(exact, start + 1s);
  (void)table.add_to_begin(later, 1s);
  EXPECT_EQ(table.next_due(), start + 1s);
  (void)table.begin_all(start + 4ms);
  EXPECT_EQ(table.take_due(start + 1s), &exact);
  EXPECT_EQ(table.next_due(), start + 1s + 4ms);
  EXPECT_EQ(table.take_due(start + 1s + 4ms - 1ns), nullptr);
  EXPECT_EQ(table.take_due(start + 1s + 4ms), &later);
  EXPECT_TRUE(table.empty());
}

TEST(wait_table, hurried_mode_lasts_only_as_long_as_requests_are_frequent) {
  wait_table table;
  hurry(table, start);
  EXPECT_FALSE(table.looked(start + 2ms)) << "it is in one already";
  EXPECT_TRUE(table.begin_all(start + 4ms)) << "there were enough";
  EXPECT_TRUE(table.hurries_with(1s));
  EXPECT_FALSE(table.begin_all(start + 8ms)) << "nobody has asked";
  EXPECT_FALSE(table.hurries_with(1s));
  hurry(table, start + 20ms);
  EXPECT_TRUE(table.hurries_with(1s));
}

TEST(wait_table, a_time_is_made_shorter_whether_it_has_begun_or_not) {
  wait_table table;
  hurry(table, start);
  waiter exact;
  waiter later;
  const waiting_place one = table.add(exact, start + 1s);
  const waiting_place other = table.add_to_begin(later, 1s);
  EXPECT_FALSE(table.shorten(one, start + 2s));
  EXPECT_TRUE(table.shorten(one, start + 500ms));
  EXPECT_TRUE(table.shorten(other, start + 400ms));
  EXPECT_EQ(table.take_due(start + 400ms), &later);
  EXPECT_EQ(table.take_due(start + 500ms), &exact);
}

TEST(wait_table, a_time_is_never_made_longer) {
  wait_table table;
  const time_point now = clock::now();
  hurry(table, now);
  waiter endless;
  waiter other;
  waiter later;
  const waiting_place one = table.add(endless, time_point::max());
  const waiting_place two = table.add_to_begin(other, 1h);
  const waiting_place three = table.add_to_begin(later, 2h);
  EXPECT_FALSE(table.shorten(one, time_point::max()));
  EXPECT_EQ(table.next_due(), time_point::max());
  EXPECT_TRUE(table.shorten(two, time_point::max()));
  EXPECT_GE(table.next_due(), now + 1h);
  EXPECT_LT(table.next_due(), now + 2h);
  EXPECT_TRUE(table.shorten(three, now + 24h));
  EXPECT_EQ(table.take_due(clock::now() + 1h), &other);
  EXPECT_EQ(table.take_due(clock::now() + 2h), &later);
  EXPECT_EQ(table.take(one), &endless);
}

TEST(wait_table, a_wait_that_ends_before_its_timeout_begins_never_expires) {
  wait_table table;
  hurry(table, start);
  waiter who;
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(table.take(table.add_to_begin(who, 1s)), &who);
  EXPECT_TRUE(table.empty());
  EXPECT_TRUE(table.begin_all(start + 4ms));
  EXPECT_EQ(table.next_due(), time_point::max());
  EXPECT_EQ(table.take_due(start + 1h), nullptr);
}

TEST(wait_table, a_freed_place_can_be_reused_with_another_timeout) {
  wait_table table;
  hurry(table, start);
  waiter first;
  waiter second;
  EXPECT_EQ(table.take(table.add_to_begin(first, 1s)), &first);
  const waiting_place at = table.add(second, start + 3s);
  (void)table.begin_all(start + 4ms);
  EXPECT_EQ(table.next_due(), start + 3s);
  EXPECT_EQ(table.take(at), &second);
  EXPECT_EQ(table.take(at), nullptr);
  const waiting_place again = table.add_to_begin(first, 1s);
  (void)table.begin_all(start + 8ms);
  EXPECT_EQ(table.next_due(), start + 8ms + 1s);
  EXPECT_EQ(table.take(again), &first);
  EXPECT_EQ(table.next_due(), time_point::max());
}

TEST(wait_table, a_wait_without_a_timeout_does_not_use_hurried_mode) {
  wait_table table;
  hurry(table, start);
  EXPECT_FALSE(table.hurries_with(no_timeout));
}

// Compares with the simplest implementation.
TEST(wait_table, expired_waits_are_returned_in_the_order_of_their_deadlines) {
  std::mt19937 draw(1);
  const auto up_to = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(draw); };
  struct known {
    waiter who;
    waiting_place at;
    time_point until;  // if it has begun
    duration time{};   // else
    bool begun = true;
    bool there = true;
  };
  wait_table table;
  std::vector<std::unique_ptr<known>> all;
  time_point now = start;
  for (int step = 0; step < 20'000; ++step) {
    now += std::chrono::microseconds(up_to(50));
    switch (up_to(5)) {
      case 0:
      case 1: {
        auto& fresh = *all.emplace_back(std::make_unique<known>());
        fresh.time = std::chrono::milliseconds(100 + up_to(20));
        fresh.begun = !table.hurries_with(fresh.time);
        if (fresh.begun) {
          fresh.until = now + fresh.time;
          fresh.at = table.add(fresh.who, fresh.until);
          (void)table.looked(now);
        } else {
          fresh.at = table.add_to_begin(fresh.who, fresh.time);
        }
        break;
      }
      case 2: {
        if (all.empty()) break;
        known& one = *all[std::size_t(up_to(int(all.size())))];
        EXPECT_EQ(table.take(one.at), one.there ? &one.who : nullptr);
        one.there = false;
        break;
      }
      case 3: {
        if (up_to(20) != 0) break;
        (void)table.begin_all(now);
        for (const auto& each : all) {
          if (each->there && !each->begun) each->until = now + each->time;
          each->begun = true;
        }
        break;
      }
      default: {
        while (waiter* const due = table.take_due(now)) {
          const time_point first = [&] {
            time_point least = time_point::max();
            for (const auto& each : all) {
              if (each->there && each->begun) least = std::min(least, each->until);
            }
            return least;
          }();
          for (const auto& each : all) {
            if (&each->who != due) continue;
            EXPECT_TRUE(each->there && each->begun);
            EXPECT_EQ(each->until, first);
            EXPECT_LE(each->until, now);
            each->there = false;
          }
        }
        for (const auto& each : all) EXPECT_FALSE(each->there && each->begun && each->until <= now);
        std::erase_if(all, [](const auto& each) { return !each->there; });
      }
    }
  }
}

}  // namespace
}  // namespace troupe::detail
