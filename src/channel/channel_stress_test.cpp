// SPDX-License-Identifier: Apache-2.0
// Many threads on few channels; then everything is counted. TROUPE_SEED=… repeats the same choices
// (in another order: the threads are real).
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using enum channel_delivery;

std::uint64_t seed() {
  const char* const chosen = std::getenv("TROUPE_SEED");
  const std::uint64_t it =
      chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(it));
  return it;
}

struct numbered {
  int sender;
  int number;
};

/// Senders, each in order, and receivers: each value arrives once, and the values of one sender
/// that the same receiver gets are in order.
void transfer(std::size_t capacity, int senders, int receivers, int each) {
  auto ends = std::make_optional(channel<numbered>(capacity).ends());
  std::vector<std::vector<numbered>> got(static_cast<std::size_t>(receivers));
  std::vector<std::jthread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&mine, in = ends->second] {
      while (const auto v = in.receive()) mine.push_back(*v);
    });
  }
  for (int s = 0; s < senders; ++s) {
    threads.emplace_back([s, each, to = ends->first] {
      for (int i = 0; i < each; ++i) ASSERT_EQ(to.send(numbered{s, i}), accepted);
    });
  }
  ends.reset();  // closed with the last sender
  threads.clear();
  std::vector<int> arrived(static_cast<std::size_t>(senders * each));
  for (const auto& mine : got) {
    std::vector<int> last(static_cast<std::size_t>(senders), -1);
    for (const numbered& v : mine) {
      ++arrived[static_cast<std::size_t>(v.sender * each + v.number)];
      int& before = last[static_cast<std::size_t>(v.sender)];
      ASSERT_LT(before, v.number);
      before = v.number;
    }
  }
  for (const int times : arrived) ASSERT_EQ(times, 1);
}

constexpr int some = sanitized ? 2'000 : 20'000;

TEST(channel_stress, one_to_one) { transfer(16, 1, 1, some); }
TEST(channel_stress, one_to_one_hand_in_hand) { transfer(0, 1, 1, some / 4); }
TEST(channel_stress, many_to_one) { transfer(16, 4, 1, some / 4); }
TEST(channel_stress, one_to_many) { transfer(16, 1, 4, some); }
TEST(channel_stress, stampede) { transfer(4, 4, 4, some / 4); }
TEST(channel_stress, stampede_hand_in_hand) { transfer(0, 4, 4, some / 8); }

TEST(channel_stress, close_races_push) {
  struct tag {};
  for (int round = 0; round < (sanitized ? 50 : 200); ++round) {
    const channel<counted<tag>> c(2);
    atomic<int> sent{0};
    atomic<int> got{0};
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
          while (c.send({}) == accepted) ++sent;
        });
      }
      threads.emplace_back([&] {
        while (c.receive()) ++got;
      });
      while (got < round % 8) std::this_thread::yield();
      c.close();
    }
    ASSERT_EQ(sent, got) << "in round " << round;
    ASSERT_EQ(counted<tag>::alive(), 0);
    ASSERT_EQ(c.waiting(), 0u);
  }
}

TEST(channel_stress, destroying_the_last_receiver_races_with_push) {
  struct tag {};
  for (int round = 0; round < (sanitized ? 100 : 500); ++round) {
    auto ends = std::make_optional(channel<counted<tag>>(2).ends());
    std::jthread sender([to = ends->first] {
      while (to.send({}) == accepted) {
      }
    });
    for (int i = 0; i < round % 4; ++i) (void)ends->second.receive();
    ends.reset();
    sender.join();
    ASSERT_EQ(counted<tag>::alive(), 0);
  }
}

// Senders and receivers choose at random how they do it, on channels that become full, empty and
// finally closed; with deadlines that pass, and selects in every order of the channels.
TEST(channel_stress, whatever_can_be_done_at_once_loses_nothing) {
  struct tag {};
  struct item {
    std::uint64_t number;
    counted<tag> alive;
  };
  const std::uint64_t chosen = seed();
  constexpr int each = sanitized ? 1'500 : 15'000;
  {
    const std::array<channel<item>, 3> c{channel<item>(0), channel<item>(1), channel<item>(5)};
    atomic<std::uint64_t> sum_in{0};
    atomic<std::uint64_t> sum_out{0};
    atomic<int> senders_left{3};
    std::vector<std::jthread> threads;
    for (std::uint64_t n = 0; n < 3; ++n) {
      threads.emplace_back([&, n] {
        std::mt19937_64 random{chosen + n};
        for (int i = 0; i < each; ++i) {
          const std::uint64_t number = random() % 1'000;
          const std::size_t first = random() % 3;
          const auto& one = c.at(first);
          const auto& other = c.at((first + 1 + random() % 2) % 3);
          const time_point soon = clock::now() + std::chrono::microseconds(random() % 50);
          bool sent = false;
          switch (random() % 5) {
            case 0:
              sent = one.try_send(item{number, {}}) == accepted;
              break;
            case 1:
              sent = one.send_until(item{number, {}}, soon) == accepted;
              break;
            case 2:
              sent = static_cast<bool>(
                  select(soon, into(one, item{number, {}}), into(other, item{number, {}})));
              break;
            case 3:
              sent = static_cast<bool>(
                  select(into(one, item{number, {}}), into(other, item{number, {}})));
              break;
            default:
              sent = one.send(item{number, {}}) == accepted;
              break;
          }
          if (sent) sum_in += number;
        }
        if (--senders_left == 0) {
          for (const auto& all : c) all.close();
        }
      });
    }
    for (std::uint64_t n = 0; n < 3; ++n) {
      threads.emplace_back([&, n] {
        std::mt19937_64 random{chosen + 100 + n};
        const auto take = [&](const item& v) { sum_out += v.number; };
        for (;;) {
          const std::size_t i = random() % 3;
          const std::size_t k = (i + 1 + random() % 2) % 3;
          const time_point soon = clock::now() + std::chrono::microseconds(random() % 50);
          switch (random() % 3) {
            case 0:
              if (const auto v = c.at(i).receive_until(soon)) take(*v);
              break;
            case 1:
              select(soon, from(c.at(i), take), from(c.at(k), take));
              break;
            default:
              if (select(from(c[0], take), from(c[1], take), from(c[2], take)).closed()) return;
              break;
          }
        }
      });
    }
    threads.clear();
    EXPECT_EQ(sum_in, sum_out);
    for (const auto& all : c) {
      EXPECT_EQ(all.waiting(), 0u);
      EXPECT_EQ(all.size(), 0u);
    }
  }
  EXPECT_EQ(counted<tag>::alive(), 0);
}

TEST(channel_stress, select_races_close) {
  for (int round = 0; round < (sanitized ? 100 : 500); ++round) {
    const channel<int> a(1);
    const channel<int> b(1);
    std::jthread waits(
        [&] { EXPECT_TRUE(select(from(a, [](int) {}), from(b, [](int) {})).closed()); });
    std::jthread closes([&] { a.close(); });
    b.close();
  }
}

TEST(channel_stress, a_deadline_races_a_value) {
  for (int round = 0; round < (sanitized ? 300 : 3'000); ++round) {
    const channel<int> a(1);
    const channel<int> b(1);
    int got = 0;
    {
      std::jthread sends([&] { (void)a.send(1); });
      const time_point soon = clock::now() + std::chrono::microseconds(round % 60);
      if (select(soon, from(a, [](int) {}), from(b, [](int) {}))) ++got;
    }
    ASSERT_EQ(got + static_cast<int>(a.size()), 1) << "in round " << round;
    ASSERT_EQ(a.waiting() + b.waiting(), 0u);
  }
}

}  // namespace
}  // namespace troupe::test
