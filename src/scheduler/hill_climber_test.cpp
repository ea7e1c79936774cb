// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/scheduler/hill_climber.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

// A model of a pool with a known throughput per microsecond for each number of workers.
class imagined {
 public:
  imagined(unsigned workers, std::function<double(unsigned)> per_microsecond)
      : climber_(workers), does_(std::move(per_microsecond)) {}

  void becomes(std::function<double(unsigned)> per_microsecond) {
    does_ = std::move(per_microsecond);
  }

  // Returns the fraction of the time in which the limit was `limit` workers.
  double run_for(duration time, unsigned limit) {
    const time_point end = now_ + time;
    duration at_limit{};
    while (now_ < end) {
      const duration step = 100us;
      now_ += step;
      done_ += does_(climber_.limit()) * 100;
      if (climber_.limit() == limit) at_limit += step;
      climber_.look(now_, static_cast<std::uint64_t>(done_), climber_.limit());
    }
    return std::chrono::duration<double>(at_limit) / std::chrono::duration<double>(time);
  }

  hill_climber& climber() { return climber_; }

 private:
  hill_climber climber_;
  std::function<double(unsigned)> does_;
  time_point now_ = time_point{} + 1h;
  double done_ = 0;
};

double torn(unsigned workers) { return workers == 1 ? 40 : 20; }
double shared(unsigned workers) { return 30.0 * workers; }

TEST(hill_climber, at_first_all_may_run) {
  for (const unsigned workers : {1u, 2u, 3u, 8u, 100u}) {
    EXPECT_EQ(hill_climber(workers).limit(), workers);
  }
}

TEST(hill_climber, one_worker_stays_one) {
  imagined pool(1, torn);
  EXPECT_DOUBLE_EQ(pool.run_for(1s, 1), 1);
}

TEST(hill_climber, leaves_contended_work_to_one_worker) {
  imagined pool(2, torn);
  (void)pool.run_for(20ms, 1);
  EXPECT_GE(pool.run_for(1s, 1), 0.95);
}

TEST(hill_climber, work_that_two_do_faster_is_shared) {
  imagined pool(2, shared);
  (void)pool.run_for(20ms, 2);
  EXPECT_GE(pool.run_for(1s, 2), 0.95);
}

TEST(hill_climber, a_little_more_does_not_pay_for_another_core) {
  imagined pool(2, [](unsigned workers) { return workers == 1 ? 40.0 : 44.0; });
  (void)pool.run_for(20ms, 1);
  EXPECT_GE(pool.run_for(1s, 1), 0.9);
}

TEST(hill_climber, it_notices_that_the_work_has_changed) {
  imagined pool(2, torn);
  (void)pool.run_for(1s, 1);
  pool.becomes(shared);
  (void)pool.run_for(400ms, 2);
  EXPECT_GE(pool.run_for(1s, 2), 0.9);
  pool.becomes(torn);
  (void)pool.run_for(400ms, 1);
  EXPECT_GE(pool.run_for(1s, 1), 0.9);
}

TEST(hill_climber, long_steps_are_shared_and_nothing_is_compared) {
  imagined pool(2, [](unsigned workers) { return workers == 1 ? 0.5 : 0.4; });
  EXPECT_DOUBLE_EQ(pool.run_for(1s, 2), 1);
}

TEST(hill_climber, does_not_restrict_idle_workers) {
  imagined pool(2, [](unsigned) { return 0.0; });
  EXPECT_DOUBLE_EQ(pool.run_for(1s, 2), 1);
}

TEST(hill_climber, of_many_it_finds_how_many_are_best) {
  imagined pool(16, [](unsigned workers) { return workers <= 4 ? 20.0 * workers : 60; });
  (void)pool.run_for(500ms, 4);
  EXPECT_GE(pool.run_for(1s, 4), 0.9);
}

TEST(hill_climber, workers_that_are_no_power_of_two_may_all_run) {
  for (const unsigned workers : {3u, 5u, 6u, 9u, 17u, 19u, 33u, 38u}) {
    imagined pool(workers, shared);
    (void)pool.run_for(100ms, workers);
    EXPECT_GE(pool.run_for(1s, workers), 0.9) << workers;
  }
}

// A few workers exchange much data between cores; many workers exchange little.
TEST(hill_climber, discovers_that_only_many_workers_are_faster) {
  imagined pool(16, torn);
  (void)pool.run_for(1s, 1);
  pool.becomes([](unsigned workers) { return workers == 1 ? 40.0 : 15.0 * workers; });
  (void)pool.run_for(2s, 16);
  EXPECT_GE(pool.run_for(1s, 16), 0.9);
}

// Only two of 16 workers have work.
TEST(hill_climber, reaches_one_worker_although_most_workers_are_idle) {
  hill_climber climber(16);
  time_point now = time_point{} + 1h;
  std::uint64_t done = 0;
  unsigned lowest = 16;
  for (int i = 0; i < 10'000; ++i, now += 100us) {
    done += climber.limit() == 1 ? 4'000 : 1'500;
    climber.look(now, done, std::min(climber.limit(), 2u));
    lowest = std::min(lowest, climber.limit());
  }
  EXPECT_EQ(lowest, 1);
}

TEST(hill_climber, an_interruption_discards_earlier_measurements) {
  imagined pool(2, torn);
  (void)pool.run_for(1s, 1);
  pool.climber().interrupt();
  pool.becomes(shared);
  EXPECT_GE(pool.run_for(50ms, 2), 0.6);
}

TEST(hill_climber, after_all_were_idle_all_may_run_again) {
  imagined pool(2, torn);
  (void)pool.run_for(1s, 1);
  pool.climber().interrupt();
  EXPECT_EQ(pool.climber().limit(), 2);
  EXPECT_LE(pool.climber().next_look(), time_point{});
}

// Phases of a few milliseconds in which the work has another cost must not be taken as a result.
TEST(hill_climber, phases_of_the_work_do_not_mislead_it_for_long) {
  std::mt19937 random(1);
  double phase = 1;
  int left = 0;
  imagined pool(2, [&](unsigned workers) {
    if (--left <= 0) {
      left = std::uniform_int_distribution<int>(5, 40)(random);
      phase = std::uniform_real_distribution<double>(0.5, 1.5)(random);
    }
    return phase * (workers == 1 ? 40 : 15);
  });
  (void)pool.run_for(50ms, 1);
  EXPECT_GE(pool.run_for(2s, 1), 0.8);
}

}  // namespace
}  // namespace troupe::detail
