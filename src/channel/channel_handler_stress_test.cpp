// SPDX-License-Identifier: Apache-2.0
// Actors that wait for channels and are stopped meanwhile; then everything is counted.
// TROUPE_SEED=… repeats the same choices (in another order: the threads are real).
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

std::uint64_t seed() {
  const char* const chosen = std::getenv("TROUPE_SEED");
  const std::uint64_t it =
      chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(it));
  return it;
}

using value = std::unique_ptr<int>;

/// The number of times that each value was received.
class tally {
 public:
  explicit tally(int values) : times_(static_cast<std::size_t>(values)) {}
  void count(const value& v) { times_[static_cast<std::size_t>(*v)].fetch_add(1, relaxed); }
  [[nodiscard]] int times(int v) const { return times_[static_cast<std::size_t>(v)].load(relaxed); }

 private:
  std::vector<atomic<int>> times_;
};

struct receive {};
struct receive_in_time {};
struct receive_from_two {};
struct send {
  int first;
  int count;
};

/// Each of its handlers waits; it may be stopped at any time.
class worker : public actor {
 public:
  worker(channel<value> a, channel<value> b, tally& out, tally& refused)
      : a_(std::move(a)), b_(std::move(b)), out_(out), refused_(refused) {}

  task<> on(receive) {
    while (const auto got = co_await a_.next()) out_.count(*got);
  }
  task<> on(receive_in_time) {
    for (;;) {
      const auto got = co_await b_.next(500us);
      if (got) out_.count(*got);
      if (got.is_closed()) co_return;
    }
  }
  task<> on(receive_from_two) {
    for (;;) {
      const selection one =
          co_await select_when_ready(1ms, from(a_, [this](value v) { out_.count(v); }),
                                     from(b_, [this](value v) { out_.count(v); }));
      if (one.closed()) co_return;
    }
  }
  task<int> on(send m) {
    for (int i = m.first; i < m.first + m.count; ++i) {
      const channel<value>& to = i % 2 == 0 ? a_ : b_;
      auto became = co_await to.async_send(std::make_unique<int>(i));
      if (!became) refused_.count(became.value());
    }
    co_return m.count;
  }

 private:
  const channel<value> a_;
  const channel<value> b_;
  tally& out_;
  tally& refused_;
};

/// Threads send all values and wait for room; actors receive, and are stopped and replaced
/// meanwhile. The values that are left in the channels are taken out: then each value was received
/// once.
void receivers_that_are_stopped(std::size_t capacity, std::mt19937_64& random) {
  constexpr int values = sanitized ? 3'000 : 20'000;
  tally out(values);
  tally refused(values);
  const channel<value> a(capacity);
  const channel<value> b(capacity);
  {
    recorder told;
    troupe::system system(told.options(2));
    std::vector<std::jthread> senders;
    for (int s = 0; s < 2; ++s) {
      senders.emplace_back([&, s] {
        const channel<value>& to = s == 0 ? a : b;
        for (int i = s; i < values; i += 2) {
          value v = std::make_unique<int>(i);
          if (to.send(std::move(v)) != channel_delivery::accepted) refused.count(v);
        }
      });
    }
    std::vector<ref<worker>> workers(3);
    atomic<bool> over{false};
    std::jthread last([&] {
      senders.clear();
      over.store(true, seq_cst);
    });
    const auto spawn = [&](ref<worker>& one) {
      one = system.spawn<worker>(a, b, out, refused);
      one.send(receive{});
      one.send(receive_in_time{});
      one.send(receive_from_two{});
    };
    for (auto& each : workers) spawn(each);
    while (!over.load(seq_cst)) {
      auto& one = workers[random() % workers.size()];
      one.stop_now();
      if (random() % 2 == 0) (void)one.join();
      spawn(one);
      for (auto rests = random() % 16; rests != 0; --rests) std::this_thread::yield();
    }
    last.join();
    for (auto& each : workers) each.stop_now();
  }
  EXPECT_EQ(a.waiting() + b.waiting(), 0u);
  for (const auto& each : {a, b}) {
    while (const auto left = each.try_receive()) out.count(*left);
  }
  for (int i = 0; i < values; ++i) ASSERT_EQ(out.times(i) + refused.times(i), 1) << i;
}

TEST(channel_handler_stress, receivers_that_are_stopped_lose_nothing) {
  std::mt19937_64 random(seed());
  receivers_that_are_stopped(4, random);
}
TEST(channel_handler_stress, receivers_that_are_stopped_lose_nothing_hand_in_hand) {
  std::mt19937_64 random(seed());
  receivers_that_are_stopped(0, random);
}

// Actors wait to send to full channels, which are closed under them, while they are stopped.
TEST(channel_handler_stress, channels_that_are_closed_while_full) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < (sanitized ? 100 : 500); ++round) {
    constexpr int values = 64;
    tally out(values);
    tally refused(values);
    const channel<value> a(random() % 3);
    const channel<value> b(random() % 3);
    const std::size_t stopped = random() % 4;
    {
      recorder told;
      troupe::system system(told.options(2));
      std::vector<ref<worker>> workers;
      std::vector<ask_future<int>> sending;
      for (int w = 0; w < 4; ++w) {
        workers.push_back(system.spawn<worker>(a, b, out, refused));
        for (const int first : {w * 16, w * 16 + 8}) {
          sending.push_back(workers.back().ask<send>(patience, first, 8));
        }
      }
      std::jthread taker([&] {
        for (int i = 0; i < 8; ++i) {
          if (const auto got = a.try_receive()) out.count(*got);
          if (const auto got = b.try_receive()) out.count(*got);
        }
        a.close();
      });
      workers[stopped].stop_now();
      b.close();
      taker.join();
      for (std::size_t i = 0; i < sending.size(); ++i) {
        const auto done = sending[i].get();
        if (i / 2 != stopped) {
          ASSERT_TRUE(done) << done.message();
        }
      }
    }
    EXPECT_EQ(a.waiting() + b.waiting(), 0u);
    for (const auto& each : {a, b}) {
      while (const auto left = each.try_receive()) out.count(*left);
    }
    for (int i = 0; i < values; ++i) {
      const int times = out.times(i) + refused.times(i);
      if (static_cast<std::size_t>(i) / 16 == stopped) {
        ASSERT_LE(times, 1) << i << ": what it did not send is nowhere";
      } else {
        ASSERT_EQ(times, 1) << i;
      }
    }
  }
}

// A time-out races with a value.
TEST(channel_handler_stress, a_value_that_races_with_the_timeout_is_not_lost) {
  constexpr int values = sanitized ? 500 : 3'000;
  tally out(values);
  tally refused(values);
  const channel<value> a(0);
  const channel<value> b(0);
  recorder told;
  troupe::system system(told.options(2));
  const auto it = system.spawn<worker>(a, b, out, refused);
  it.send(receive_in_time{});
  for (int i = 0; i < values; ++i) {
    value v = std::make_unique<int>(i);
    const auto became = b.send_until(std::move(v), clock::now() + 500us);
    if (became != channel_delivery::accepted) refused.count(v);
  }
  b.close();
  a.close();
  it.stop();
  (void)it.join();
  for (int i = 0; i < values; ++i) ASSERT_EQ(out.times(i) + refused.times(i), 1) << i;
}

}  // namespace
}  // namespace troupe::test
