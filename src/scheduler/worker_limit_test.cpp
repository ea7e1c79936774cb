// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/scheduler/worker_limit.hpp>

#include <chrono>
#include <cstdint>
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

#include <troupe/base/clock.hpp>
#include <troupe/detail/scheduler/tuning.hpp>

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

TEST(worker_limit, counts_nothing_before_it_is_time) {
  worker_limit limit(4);
  std::uint64_t counted = 0;
  const auto steps = [&] { return ++counted; };
  const time_point begun = clock::now();
  for (int i = 0; i < 10'000; ++i) limit.look(steps, 4);
  // Once when it begins, and on a slow host once for each time that has passed.
  EXPECT_GE(counted, 1u);
  EXPECT_LE(counted, 1u + static_cast<std::uint64_t>((clock::now() - begun) / tuning::settle_for));
}

TEST(worker_limit, a_look_waits_for_no_other_one) {
  worker_limit limit(4);
  std::binary_semaphore begun{0};
  std::binary_semaphore go_on{0};
  std::jthread counts([&] {
    limit.look(
        [&] {
          begun.release();
          EXPECT_TRUE(go_on.try_acquire_for(10s)) << "the other one has waited for this one";
          return std::uint64_t{1};
        },
        4);
  });
  begun.acquire();
  limit.interrupt();
  limit.look(
      []() -> std::uint64_t {
        ADD_FAILURE() << "two count";
        return 1;
      },
      4);
  go_on.release();
}

TEST(worker_limit, of_one_worker_is_never_looked_at) {
  worker_limit limit(1);
  limit.look(
      []() -> std::uint64_t {
        ADD_FAILURE() << "counted";
        return 1;
      },
      1);
  EXPECT_EQ(limit.now(), 1u);
}

}  // namespace
}  // namespace troupe::detail
