// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <utility>

#include <checker/check.hpp>
#include <troupe/channel/channel.hpp>
#include <troupe/detail/sync/thread.hpp>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;
using progress = channel_core::progress;

// A channel without the handles, and not on the heap. Several channels are locked in the order of
// their addresses, and these are then the same in each execution.
struct small_channel {
  explicit small_channel(std::size_t capacity)
      : core(operations_of<int>, capacity, overflow::policy::backpressure) {
    core.open_end(true, true);
  }

  channel_delivery send(int value, time_point deadline = time_point::max()) {
    channel_case one{.of = &core, .sends = true, .value = &value};
    return send_one(one, deadline);
  }
  std::pair<progress, int> receive(time_point deadline = time_point::max()) {
    int value = 0;
    channel_case one{.of = &core, .sends = false, .value = &value};
    const progress result = receive_one(one, deadline);
    return {result, value};
  }

  channel_core core;
};

struct taken {
  progress what;
  std::size_t which;  // 0 or 1
  int value;
};

taken take_one_of(small_channel& a, small_channel& b, time_point deadline = time_point::max()) {
  std::array<int, 2> values{};
  channel_case first{.of = &a.core, .sends = false, .value = &values[0]};
  channel_case second{.of = &b.core, .sends = false, .value = &values[1]};
  std::array<channel_case*, 2> all{&first, &second};
  std::array<channel_core*, 2> locks;
  const auto [what, which] = wait_for_one(all, locks, deadline);
  const std::size_t index = which == &second ? 1 : 0;
  return {what, index, values.at(index)};
}

taken give_one_of(small_channel& a, small_channel& b, int value) {
  channel_case first{.of = &a.core, .sends = true, .value = &value};
  channel_case second{.of = &b.core, .sends = true, .value = &value};
  std::array<channel_case*, 2> all{&first, &second};
  std::array<channel_core*, 2> locks;
  const auto [what, which] = wait_for_one(all, locks, time_point::max());
  return {what, which == &second ? std::size_t{1} : 0, value};
}

TEST(channel, a_receiver_sees_the_value_and_earlier_writes) {
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}}) {
    expect_holds([&] {
      small_channel c(capacity);
      plain<int> before{0};
      jthread other([&] {
        before = 1;
        require(c.send(7) == channel_delivery::accepted, "it is taken");
      });
      const auto [what, value] = c.receive();
      require(what == progress::done && value == 7, "it arrives");
      require(before == 1, "what was written before it is seen");
    });
  }
}

TEST(channel, a_sender_waiting_for_space_is_woken_and_not_overtaken) {
  expect_holds([] {
    small_channel c(1);
    jthread other([&] {
      for (int i = 1; i <= 3; ++i) c.send(i);
    });
    for (int i = 1; i <= 3; ++i) require(c.receive().second == i, "in order");
  });
}

TEST(channel, receiving_one_value_lets_one_sender_proceed) {
  expect_holds([] {
    small_channel c(1);
    {
      jthread other([&] {
        c.send(1);
        c.send(2);
      });
      require(c.receive().second == 1, "the first");
    }
    require(c.core.size() == 1, "the second has its place");
  });
}

TEST(channel, two_waiting_receivers_get_one_value_each) {
  expect_holds([] {
    small_channel c(1);
    atomic<int> sum{0};
    {
      jthread one([&] { sum.fetch_add(c.receive().second, relaxed); });
      jthread two([&] { sum.fetch_add(c.receive().second, relaxed); });
      c.send(1);
      c.send(2);
    }
    require(sum.load(relaxed) == 3, "each of them once");
  });
}

TEST(channel, close_wakes_waiters_and_loses_no_value) {
  expect_holds([] {
    small_channel c(0);
    bool sent = false;
    bool got = false;
    {
      jthread one([&] { sent = c.send(1) == channel_delivery::accepted; });
      jthread two([&] { got = c.receive().first == progress::done; });
      c.core.close();
    }
    require(sent == got, "sent if and only if it was received");
    varies(got, "it comes before the end");
  });
}

TEST(channel, a_deadline_that_races_a_value_loses_nothing) {
  expect_holds([] {
    small_channel c(1);
    bool got = false;
    {
      jthread other([&] { c.send(1); });
      got = c.receive(time_point{}).first == progress::done;
    }
    require(c.core.size() == (got ? 0 : 1), "received, or still there");
    varies(got, "it comes in time");
    require(c.core.waiting() == 0, "nobody is left in a line");
  });
}

TEST(channel, a_select_takes_exactly_one_of_two) {
  expect_holds([] {
    small_channel a(1);
    small_channel b(1);
    taken one{};
    {
      jthread first([&] { a.send(10); });
      jthread second([&] { b.send(11); });
      one = take_one_of(a, b);
    }
    require(one.what == progress::done && one.value == 10 + static_cast<int>(one.which),
            "the value of the one that it says");
    require(a.core.size() + b.core.size() == 1, "the other one is still there");
    varies(one.which == 0, "it is the first one");
    require(a.core.waiting() + b.core.waiting() == 0, "nobody is left in a line");
  });
}

TEST(channel, a_select_whose_deadline_races_values_loses_nothing) {
  expect_holds([] {
    small_channel a(1);
    small_channel b(1);
    taken one{};
    {
      jthread first([&] { a.send(10); });
      one = take_one_of(a, b, time_point{});
    }
    const bool is_taken = varies(one.what == progress::done, "it comes in time");
    require(a.core.size() == (is_taken ? 0 : 1), "taken, or still there");
    require(a.core.waiting() + b.core.waiting() == 0, "nobody is left in a line");
  });
}

TEST(channel, a_select_ends_when_both_are_closed_by_two) {
  expect_holds([] {
    small_channel a(1);
    small_channel b(1);
    jthread first([&] { a.core.close(); });
    jthread second([&] { b.core.close(); });
    require(take_one_of(a, b).what == progress::closed, "it is told");
  });
}

TEST(channel, a_select_keeps_waiting_while_one_channel_is_open) {
  expect_holds([] {
    small_channel a(1);
    small_channel b(1);
    jthread first([&] { a.core.close(); });
    jthread second([&] { b.send(11); });
    const taken one = take_one_of(a, b);
    require(one.what == progress::done && one.value == 11, "the value of the open one");
  });
}

TEST(channel, two_selects_meet) {
  expect_holds([] {
    small_channel a(0);
    small_channel b(0);
    taken given{};
    taken got{};
    {
      jthread other([&] { given = give_one_of(b, a, 5); });
      got = take_one_of(a, b);
    }
    require(given.what == progress::done && got.what == progress::done, "both are done");
    require(given.which != got.which, "by the same channel");
    require(got.value == 5, "with the value");
    varies(got.which == 0, "by the first one");
    require(a.core.waiting() + b.core.waiting() == 0, "nobody is left in a line");
  });
}

}  // namespace
}  // namespace troupe::detail
