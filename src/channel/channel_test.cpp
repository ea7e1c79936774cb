// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe {

inline void PrintTo(channel_delivery d, std::ostream* out) { *out << to_string(d); }

}  // namespace troupe

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using enum channel_delivery;

/// Returns everything in it, until it is empty.
template <class T>
std::vector<T> rest_of(const channel<T>& c) {
  std::vector<T> all;
  while (auto v = c.try_receive()) all.push_back(std::move(*v));
  return all;
}

// ── One thread ────────────────────────────────────────────────────────────────────────────────

TEST(channel, empty) {
  const channel<int> c(2);
  EXPECT_FALSE(c.try_receive());
  EXPECT_FALSE(c.try_receive().is_closed());
  EXPECT_FALSE(c.receive_until(clock::now() + 1ms));
  EXPECT_EQ(c.size(), 0u);
  EXPECT_EQ(c.capacity(), 2u);
  EXPECT_EQ(c.waiting(), 0u);
}

TEST(channel, order) {
  const channel<int> c(3);
  // Across the end of its memory.
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(c.send(2 * i), accepted);
    EXPECT_EQ(c.send(2 * i + 1), accepted);
    EXPECT_EQ(c.receive().value(), 2 * i);
    EXPECT_EQ(c.try_receive().value(), 2 * i + 1);
  }
}

TEST(channel, full) {
  const channel<int> c(2);
  EXPECT_EQ(c.try_send(1), accepted);
  EXPECT_EQ(c.try_send(2), accepted);
  EXPECT_EQ(c.size(), 2u);
  EXPECT_EQ(c.try_send(3), refused);
  EXPECT_EQ(c.send_until(4, clock::now() + 1ms), timed_out);
  EXPECT_EQ(c.waiting(), 0u) << "who gives up is out of the line";
  EXPECT_THAT(rest_of(c), ElementsAre(1, 2));
  EXPECT_EQ(c.counts(), (overload_counts{.refused = 1, .paused = 1, .pauses_timed_out = 1}));
}

TEST(channel, that_refuses) {
  const channel<int> c(2, overflow::refuse);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(c.send(int{i}), accepted);
  EXPECT_EQ(c.send(2), refused);
  EXPECT_EQ(c.send_until(3, time_point::max()), refused);
  EXPECT_EQ(c.try_send(4), refused);
  EXPECT_THAT(rest_of(c), ElementsAre(0, 1));
  EXPECT_EQ(c.counts(), (overload_counts{.refused = 3}));
}

TEST(channel, that_drops_the_newest) {
  const channel<int> c(2, overflow::drop_newest);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(c.send(int{i}), accepted);
  EXPECT_EQ(c.send(2), dropped);
  EXPECT_THAT(rest_of(c), ElementsAre(0, 1));
  EXPECT_EQ(c.counts(), (overload_counts{.dropped = 1}));
}

TEST(channel, that_drops_the_oldest) {
  struct tag {};
  struct item {
    int number;
    counted<tag> alive;
  };
  {
    const channel<item> c(2, overflow::drop_oldest);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(c.send(item{i, {}}), accepted);
    EXPECT_EQ(counted<tag>::alive(), 2);
    EXPECT_EQ(c.receive()->number, 3);
    EXPECT_EQ(c.receive()->number, 4);
    EXPECT_EQ(c.counts(), (overload_counts{.dropped = 3}));
    EXPECT_EQ(counted<tag>::alive(), 0);
  }
}

TEST(channel, takes_no_policy_that_needs_an_actor) {
  EXPECT_THROW((channel<int>(2, overflow::fail_receiver)), std::invalid_argument);
  journal log;
  stage s;
  const auto other = s.spawn<probe>(log);
  EXPECT_THROW((channel<int>(2, overflow::redirect_to(other))), std::invalid_argument);
  EXPECT_THROW((channel<int>(0, overflow::drop_oldest)), std::invalid_argument);
  EXPECT_THROW((channel<int>(static_cast<std::size_t>(-1))), std::invalid_argument);
}

TEST(channel, a_value_that_was_not_accepted_stays_with_the_caller) {
  const channel<std::unique_ptr<int>> c(1);
  auto kept = std::make_unique<int>(1);
  EXPECT_EQ(c.send(std::move(kept)), accepted);
  EXPECT_FALSE(kept);
  kept = std::make_unique<int>(2);
  EXPECT_EQ(c.try_send(std::move(kept)), refused);
  EXPECT_EQ(c.send_until(std::move(kept), clock::now()), timed_out);
  c.close();
  EXPECT_EQ(c.send(std::move(kept)), closed);
  ASSERT_TRUE(kept);
  EXPECT_EQ(*kept, 2);
}

TEST(channel, holds_overaligned_and_large_values) {
  struct alignas(128) large {
    int number;
    std::array<char, 1'000> more;
  };
  const channel<large> c(3);
  for (int i = 0; i < 3; ++i) c.send(large{i, {}});
  for (int i = 0; i < 3; ++i) {
    const auto v = c.receive();
    EXPECT_EQ(v->number, i);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&*v) % 128, 0u);
  }
}

TEST(channel, an_exception_from_a_copy_leaves_the_channel_unchanged) {
  struct fragile {
    fragile() = default;
    fragile(const fragile&) { throw std::runtime_error("on purpose"); }
    fragile(fragile&&) noexcept = default;
  };
  const channel<fragile> c(1);
  const fragile value;
  EXPECT_THROW((void)c.send(value), std::runtime_error);
  EXPECT_EQ(c.size(), 0u);
}

// ── Closing ───────────────────────────────────────────────────────────────────────────────────

TEST(channel, after_close_refuses_sends_and_delivers_the_remaining_values) {
  const channel<int> c(3);
  c.send(1);
  c.send(2);
  EXPECT_TRUE(c.close());
  EXPECT_FALSE(c.close());
  EXPECT_TRUE(c.is_closed());
  EXPECT_EQ(c.send(3), closed);
  EXPECT_EQ(c.try_send(3), closed);
  EXPECT_EQ(c.receive().value(), 1);
  EXPECT_EQ(c.try_receive().value(), 2);
  EXPECT_TRUE(c.receive().is_closed());
  EXPECT_TRUE(c.try_receive().is_closed());
  EXPECT_FALSE(c.receive());
  EXPECT_EQ(c.counts(), overload_counts{});
}

TEST(channel, close_wakes_all_waiting_receivers) {
  const channel<int> c(3);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE(c.receive().is_closed()); });
  }
  ASSERT_TRUE(eventually([&] { return c.waiting() == 3; }));
  c.close();
}

TEST(channel, close_wakes_all_waiting_senders_which_keep_their_values) {
  const channel<std::unique_ptr<int>> c(1);
  c.send(std::make_unique<int>(0));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      auto mine = std::make_unique<int>(1);
      EXPECT_EQ(c.send(std::move(mine)), closed);
      EXPECT_TRUE(mine);
    });
  }
  ASSERT_TRUE(eventually([&] { return c.waiting() == 3; }));
  c.close();
  threads.clear();
  EXPECT_EQ(**c.receive(), 0);
  EXPECT_TRUE(c.receive().is_closed());
}

TEST(channel, is_closed_when_no_sender_is_left) {
  auto [to, in] = channel<int>(2).ends();
  std::optional second{to};
  to.send(1);
  to = channel<int>::sender(channel<int>(1));
  EXPECT_FALSE(in.is_closed()) << "there is a second one";
  second.reset();
  EXPECT_EQ(in.receive().value(), 1);
  EXPECT_TRUE(in.receive().is_closed());
}

TEST(channel, destroying_the_last_sender_wakes_a_waiting_receiver) {
  auto ends = std::make_optional(channel<int>(2).ends());
  const auto in = ends->second;
  std::jthread other([&] { EXPECT_TRUE(in.receive().is_closed()); });
  ASSERT_TRUE(eventually([&] { return in.waiting() == 1; }));
  ends.reset();
}

TEST(channel, is_closed_and_emptied_when_no_receiver_is_left) {
  struct tag {};
  auto ends = std::make_optional(channel<counted<tag>>(4).ends());
  const auto to = ends->first;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(to.send({}), accepted);
  (void)ends->second.receive();
  to.send({});  // across the end
  to.send({});
  EXPECT_EQ(counted<tag>::alive(), 4);
  ends.reset();
  EXPECT_EQ(counted<tag>::alive(), 0);
  EXPECT_EQ(to.size(), 0u);
  EXPECT_EQ(to.send({}), closed);
}

TEST(channel, destroys_all) {
  struct tag {};
  {
    channel<counted<tag>> c(8);
    for (int i = 0; i < 5; ++i) c.send({});
    (void)c.receive();
    const channel<counted<tag>> copy = c;
    const channel<counted<tag>> moved = std::move(c);
    EXPECT_EQ(counted<tag>::alive(), 4);
    moved.close();
    EXPECT_EQ(counted<tag>::alive(), 4) << "they can still be received";
  }
  EXPECT_EQ(counted<tag>::alive(), 0);
}

TEST(channel, a_value_may_use_its_channel_when_it_is_destroyed) {
  struct reporter {
    explicit reporter(const channel<int>* log) : to(log) {}
    reporter(reporter&& other) noexcept : to(std::exchange(other.to, nullptr)) {}
    ~reporter() {
      if (to != nullptr) to->try_send(1);
    }
    const channel<int>* to;
  };
  const channel<int> log(10);
  {
    const channel<reporter> c(1, overflow::drop_oldest);
    for (int i = 0; i < 3; ++i) c.send(reporter(&log));
    EXPECT_EQ(log.size(), 2u);
  }
  EXPECT_EQ(log.size(), 3u);
}

// ── Two threads ───────────────────────────────────────────────────────────────────────────────

TEST(channel, passes_a_value_directly_to_a_waiting_receiver) {
  const channel<int> c(3);
  std::jthread other([&] { EXPECT_EQ(c.receive().value(), 1); });
  ASSERT_TRUE(eventually([&] { return c.waiting() == 1; }));
  EXPECT_EQ(c.send(1), accepted);
  EXPECT_EQ(c.size(), 0u) << "handed over, not left for whoever comes first";
}

TEST(channel, with_capacity_zero_passes_values_directly) {
  const channel<int> c(0);
  EXPECT_EQ(c.try_send(1), refused);
  EXPECT_EQ(c.send_until(1, clock::now() + 1ms), timed_out);
  EXPECT_FALSE(c.try_receive());
  std::jthread other([&] {
    for (int i = 0; i < 1'000; ++i) EXPECT_EQ(c.send(int{i}), accepted);
    for (int i = 0; i < 1'000; ++i) EXPECT_EQ(c.receive().value(), i);
  });
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(c.receive().value(), i);
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(c.send(int{i}), accepted);
}

TEST(channel, senders_that_wait_are_served_in_the_order_of_their_coming) {
  const channel<int> c(1);
  c.send(0);
  std::vector<std::jthread> threads;
  for (int i = 1; i <= 5; ++i) {
    threads.emplace_back([&c, i] { EXPECT_EQ(c.send(int{i}), accepted); });
    ASSERT_TRUE(eventually([&] { return c.waiting() == static_cast<std::size_t>(i); }));
  }
  EXPECT_EQ(c.try_send(6), refused) << "nobody overtakes";
  for (int i = 0; i <= 5; ++i) EXPECT_EQ(c.receive().value(), i);
}

TEST(channel, receivers_that_wait_are_served_in_the_order_of_their_coming) {
  const channel<int> c(4);
  std::vector<int> got(4);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([&, i] { got[i] = c.receive().value(); });
    ASSERT_TRUE(eventually([&] { return c.waiting() == i + 1; }));
  }
  for (int i = 0; i < 4; ++i) c.send(int{i});
  threads.clear();
  EXPECT_THAT(got, ElementsAre(0, 1, 2, 3));
}

TEST(channel, a_receiver_that_timed_out_leaves_the_queue) {
  const channel<int> c(1);
  EXPECT_FALSE(c.receive_until(clock::now() + 1ms));
  EXPECT_EQ(c.waiting(), 0u);
  std::jthread second([&] { EXPECT_EQ(c.receive().value(), 1); });
  ASSERT_TRUE(eventually([&] { return c.waiting() == 1; }));
  c.send(1);
}

// ── Actors ────────────────────────────────────────────────────────────────────────────────────

TEST(channel, waiting_in_a_handler_on_a_shared_thread_is_a_logic_error) {
  journal log;
  stage s;
  const channel<int> c(4);
  const auto a = s.spawn<probe>(log);
  event pooled;
  const auto checks = [&](probe&) {
    EXPECT_THROW((void)c.send(1), std::logic_error) << "though there is room";
    EXPECT_THROW((void)c.receive(), std::logic_error);
    EXPECT_THROW((void)c.receive_until(clock::now()), std::logic_error);
    EXPECT_THROW((void)select(from(c, [](int) {})), std::logic_error);
    EXPECT_EQ(c.try_send(1), accepted);
    EXPECT_EQ(c.try_receive().value(), 1);
    EXPECT_TRUE(select(time_point::min(), from(c, [](int) {})).timed_out());
    const channel<int> refuses(1, overflow::refuse);
    EXPECT_EQ(refuses.send(1), accepted) << "it never waits";
  };
  a.send(call{checks});
  s.play();
  const auto b = s.system.spawn<probe>(log);
  b.send(call{[&](probe& me) {
    checks(me);
    pooled.set();
  }});
  EXPECT_TRUE(pooled.wait());
}

TEST(channel, an_actor_on_its_own_thread_may_block_on_receive) {
  journal log;
  system s{{.workers = 1}};
  const channel<std::string> c(1);
  const auto a = s.spawn<probe>({.where = own_thread}, log);
  a.send(call{[&](probe&) {
    while (auto v = c.receive()) log.write(*v);
  }});
  for (const char* each : {"1", "2", "3"}) EXPECT_EQ(c.send(each), accepted);
  c.close();
  a.stop();
  a.join();
  EXPECT_THAT(log.lines(), ElementsAre("1", "2", "3", "destroyed"));
}

TEST(channel, an_actor_on_the_pool_may_feed_a_thread) {
  class source : public actor {
   public:
    explicit source(channel<int>::sender to) : to_(std::move(to)) {}
    void on(int n) { EXPECT_EQ(to_.try_send(int{n}), accepted); }

   private:
    channel<int>::sender to_;
  };
  system s{{.workers = 1}};
  auto in = [&] {
    auto [to, from] = channel<int>(100).ends();
    const auto a = s.spawn<source>(std::move(to));
    for (int i = 0; i < 10; ++i) a.send(int{i});
    return from;
  }();
  int sum = 0;
  // until the actor has terminated, and its end of the channel with it
  while (const auto v = in.receive()) sum += *v;
  EXPECT_EQ(sum, 45);
}

}  // namespace
}  // namespace troupe::test
