// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <troupe/detail/sync/event.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

const time_point long_ago = clock::now() - 1s;

TEST(event, stays_set) {
  event one;
  EXPECT_FALSE(one.is_set());
  one.set();
  one.set();
  EXPECT_TRUE(one.is_set());
  one.wait();
  EXPECT_TRUE(one.wait_until(long_ago));
}

TEST(event, never_gives_up_early) {
  event one;
  EXPECT_FALSE(one.wait_until(long_ago));
  const time_point deadline = clock::now() + 3ms;
  EXPECT_FALSE(one.wait_until(deadline));
  EXPECT_GE(clock::now(), deadline);
  one.set();  // although a thread has waited before
  EXPECT_TRUE(one.is_set());
}

TEST(event, may_end_as_soon_as_its_waiter_is_awake) {
  for (int i = 0; i < 2'000; ++i) {
    auto one = std::make_unique<event>();
    int before = 0;  // not atomic: the event orders it
    thread other([at = one.get(), &before] {
      before = 1;
      at->set();
    });
    one->wait();
    EXPECT_EQ(before, 1);
    one.reset();
    other.join();
  }
}

TEST(event, stampede) {
  for (int round = 0; round < 100; ++round) {
    event one;
    std::vector<jthread> waiting;
    for (int i = 0; i < 8; ++i) {
      waiting.emplace_back([&, i] {
        if (i % 2 == 0) {
          one.wait();
        } else {
          while (!one.wait_until(clock::now() + std::chrono::microseconds{i * 10})) {
          }
        }
      });
    }
    one.set();
  }
}

}  // namespace
}  // namespace troupe
