// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

constexpr auto ignore = [](const auto&) {};

TEST(select, empty) {
  const channel<int> a(1);
  const channel<std::string> b(1);
  const auto not_now = select(time_point::min(), from(a, ignore), from(b, ignore));
  EXPECT_FALSE(not_now);
  EXPECT_TRUE(not_now.timed_out());
  EXPECT_FALSE(not_now.closed());
  EXPECT_TRUE(select(clock::now() + 1ms, from(a, ignore), from(b, ignore)).timed_out());
  EXPECT_EQ(a.waiting() + b.waiting(), 0u);
}

TEST(select, takes_from_the_channel_with_a_value_and_returns_its_index) {
  const channel<int> a(1);
  const channel<std::string> b(1);
  b.send("text");
  std::string got;
  const auto one = select(from(a, [](int) { ADD_FAILURE(); }),
                          from(b, [&](std::string s) { got = std::move(s); }));
  EXPECT_TRUE(one);
  EXPECT_EQ(one.index(), 1u);
  EXPECT_EQ(got, "text");
}

TEST(select, takes_exactly_one) {
  const channel<int> a(1);
  const channel<int> b(1);
  a.send(1);
  b.send(2);
  int got = 0;
  select(from(a, [&](int n) { got += n; }), from(b, [&](int n) { got += n; }));
  EXPECT_EQ(got + (a.size() == 1 ? 1 : 2), 3);
  EXPECT_EQ(a.size() + b.size(), 1u);
}

TEST(select, sends_to_the_one_that_has_room) {
  const channel<int> a(1);
  const channel<int> b(1);
  a.send(0);
  bool sent = false;
  const auto one = select(into(a, 1), into(b, 2, [&] { sent = true; }));
  EXPECT_EQ(one.index(), 1u);
  EXPECT_TRUE(sent);
  EXPECT_EQ(b.receive().value(), 2);
}

TEST(select, moves_only_the_value_that_it_sends) {
  const channel<std::unique_ptr<int>> a(1);
  const channel<std::unique_ptr<int>> b(1);
  a.send(nullptr);
  auto first = std::make_unique<int>(1);
  auto second = std::make_unique<int>(2);
  EXPECT_EQ(select(into(a, std::move(first)), into(b, std::move(second))).index(), 1u);
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  EXPECT_TRUE(select(time_point::min(), into(a, std::move(first))).timed_out());
  EXPECT_TRUE(first);
}

TEST(select, waits_for_room_whatever_a_full_channel_does_to_a_send) {
  for (const overflow& policy : {overflow::refuse, overflow::drop_newest}) {
    const channel<int> c(1, policy);
    c.send(1);
    std::jthread other([&] { EXPECT_TRUE(select(into(c, 2))); });
    ASSERT_TRUE(eventually([&] { return c.waiting() == 1; }));
    EXPECT_EQ(c.receive().value(), 1);
    EXPECT_EQ(c.receive().value(), 2);
  }
  struct tag {};
  const channel<counted<tag>> c(1, overflow::drop_oldest);
  c.send({});
  EXPECT_TRUE(select(into(c, counted<tag>{})));
  EXPECT_EQ(counted<tag>::alive(), 1) << "the oldest one is gone";
}

TEST(select, wakes_up_for_the_first_channel_that_becomes_ready) {
  const channel<int> a(1);
  const channel<int> b(1);
  for (int round = 0; round < 100; ++round) {
    const channel<int>& one = round % 2 == 0 ? a : b;
    std::jthread other([&] {
      const auto done = select(from(a, ignore), from(b, ignore));
      EXPECT_EQ(done.index(), static_cast<std::size_t>(round % 2));
    });
    if (round % 3 == 0) {
      ASSERT_TRUE(eventually([&] { return a.waiting() + b.waiting() == 2; }));
    }
    one.send(1);
    other.join();
    ASSERT_EQ(a.waiting() + b.waiting(), 0u);
    ASSERT_EQ(a.size() + b.size(), 0u);
  }
}

TEST(select, starves_no_channel) {
  constexpr int rounds = 1'000;
  const std::array<channel<int>, 3> all{channel<int>(1), channel<int>(1), channel<int>(1)};
  std::array<int, 3> taken{};
  for (const auto& each : all) each.send(0);
  for (int i = 0; i < rounds; ++i) {
    // The one in between must not take the turns of the other ones.
    (void)select(time_point::min(), from(channel<int>(1), ignore), from(channel<int>(1), ignore));
    const auto one = select(from(all[0], ignore), from(all[1], ignore), from(all[2], ignore));
    ++taken.at(one.index());
    all.at(one.index()).send(0);
  }
  for (const int each : taken) EXPECT_GT(each, rounds / 5) << "of " << rounds / 3;
}

// Whatever stands before or between them.
TEST(select, gives_each_that_is_ready_the_same_chance) {
  constexpr int rounds = 6'000;
  const channel<int> never(1);
  const channel<int> one(1);
  const channel<int> two(1);
  const channel<int> takes(1);
  std::array<int, 5> taken{};
  one.send(0);
  two.send(0);
  for (int i = 0; i < rounds; ++i) {
    const auto which = select(from(never, ignore), from(never, ignore), from(one, ignore),
                              from(two, ignore), into(takes, 1));
    ++taken.at(which.index());
    switch (which.index()) {
      case 2:
        one.send(0);
        break;
      case 3:
        two.send(0);
        break;
      default:
        (void)takes.receive();
        break;
    }
  }
  EXPECT_EQ(taken[0] + taken[1], 0);
  // Eight standard deviations.
  for (const std::size_t which : {2u, 3u, 4u}) EXPECT_NEAR(taken[which], rounds / 3, 300) << which;
}

TEST(select, skips_closed_channels) {
  const channel<int> a(1);
  const channel<int> b(1);
  a.close();
  b.send(1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(select(from(a, ignore), from(b, ignore)).index(), 1u);
    b.send(1);
  }
  EXPECT_TRUE(select(from(a, ignore), into(a, 1)).closed());
}

TEST(select, reports_a_closed_channel_to_a_callback_that_accepts_it) {
  const channel<int> a(1);
  const channel<int> b(1);
  int got = 0;
  bool ended = false;
  const auto listen = [&](const received<int>& v) {
    if (v) got = *v;
    ended = v.is_closed();
  };
  a.send(7);
  a.close();
  EXPECT_EQ(select(from(a, listen), from(b, ignore)).index(), 0u);
  EXPECT_EQ(got, 7);
  EXPECT_FALSE(ended);
  EXPECT_EQ(select(from(a, listen), from(b, ignore)).index(), 0u);
  EXPECT_TRUE(ended);
}

TEST(select, wakes_up_when_a_channel_closes_if_its_callback_accepts_that) {
  const channel<int> a(1);
  const channel<int> b(1);
  bool ended = false;
  std::jthread other([&] {
    const auto listen = [&](const received<int>& v) { ended = v.is_closed(); };
    EXPECT_EQ(select(from(a, ignore), from(b, listen)).index(), 1u);
  });
  ASSERT_TRUE(eventually([&] { return a.waiting() + b.waiting() == 2; }));
  b.close();
  other.join();
  EXPECT_TRUE(ended);
  EXPECT_EQ(a.waiting(), 0u);
}

TEST(select, takes_the_remaining_values_of_a_closed_channel) {
  const channel<int> a(1);
  a.send(7);
  a.close();
  int got = 0;
  EXPECT_TRUE(select(from(a, [&](int n) { got = n; })));
  EXPECT_EQ(got, 7);
  EXPECT_TRUE(select(from(a, ignore)).closed());
}

TEST(select, keeps_waiting_while_one_channel_is_open) {
  const channel<int> a(1);
  const channel<int> b(1);
  std::jthread first([&] { EXPECT_EQ(select(from(a, ignore), from(b, ignore)).index(), 1u); });
  ASSERT_TRUE(eventually([&] { return a.waiting() + b.waiting() == 2; }));
  a.close();
  EXPECT_EQ(b.waiting(), 1u);
  b.send(1);
  first.join();
  std::jthread second([&] { EXPECT_TRUE(select(from(a, ignore), from(b, ignore)).closed()); });
  ASSERT_TRUE(eventually([&] { return b.waiting() == 1; }));
  b.close();
}

TEST(select, of_the_same_channel_twice) {
  const channel<int> a(0);
  std::jthread other([&] { EXPECT_EQ(a.receive().value(), 1); });
  EXPECT_EQ(select(from(a, ignore), into(a, 1), from(a, ignore)).index(), 1u)
      << "it does not meet itself";
  other.join();
  std::jthread second([&] { a.close(); });
  EXPECT_TRUE(select(from(a, ignore), into(a, 1)).closed());
}

TEST(select, that_sends_meets_one_that_receives) {
  const channel<int> a(0);
  const channel<int> b(0);
  constexpr int rounds = sanitized ? 300 : 3'000;
  int received = 0;
  std::jthread other([&] {
    for (int i = 0; i < rounds; ++i) select(into(a, 1), into(b, 1));
  });
  for (int i = 0; i < rounds; ++i) {
    select(from(b, [&](int n) { received += n; }), from(a, [&](int n) { received += n; }));
  }
  EXPECT_EQ(received, rounds);
}

TEST(select, propagates_an_exception_of_a_callback_and_consumes_the_value) {
  struct tag {};
  const channel<counted<tag>> a(1);
  a.send({});
  EXPECT_THROW(select(from(a, [](counted<tag>) { throw std::runtime_error("on purpose"); })),
               std::runtime_error);
  EXPECT_EQ(counted<tag>::alive(), 0);
  EXPECT_EQ(a.size(), 0u);
}

TEST(select, a_callback_may_use_the_channel_and_select) {
  const channel<int> a(2);
  a.send(1);
  a.send(2);
  int sum = 0;
  select(from(a, [&](int n) {
    sum += n;
    select(from(a, [&](int m) { sum += m; }));
    EXPECT_EQ(a.send(3), channel_delivery::accepted);
  }));
  EXPECT_EQ(sum, 3);
}

TEST(select, works_on_the_ends_of_channels) {
  auto [to_a, from_a] = channel<int>(1).ends();
  auto [to_b, from_b] = channel<int>(1).ends();
  EXPECT_TRUE(select(into(to_a, 1)));
  EXPECT_EQ(select(from(from_a, ignore), from(from_b, ignore)).index(), 0u);
}

}  // namespace
}  // namespace troupe::test
