// SPDX-License-Identifier: Apache-2.0

#include "rate_limiter.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <troupe/detail/sync/atomic.hpp>
#include <troupe/sim/simulation.hpp>

namespace troupe::http::detail {
namespace {

using namespace std::chrono_literals;

constexpr duration none{0};

client_key from(std::uint32_t number) { return client_key(boost::asio::ip::address_v4(number)); }

// No turn runs: the simulation is there for its clock.
class rates : public testing::Test {
 protected:
  void wait(duration time) { (void)sim_.advance(time); }

  sim::simulation sim_{1};
};

limits requests(std::uint64_t per_second, std::uint64_t burst = 0) {
  return {
      .tls_handshakes_per_second = 0, .requests_per_second = per_second, .requests_burst = burst};
}

TEST_F(rates, without_a_limit_everything_is_allowed_and_nothing_is_kept) {
  rate_limiter r(requests(0));
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    EXPECT_EQ(r.take(rate::requests, from(i)), none);
    EXPECT_EQ(r.charge(rate::received_bytes, from(i), 1 << 30), none);
  }
  EXPECT_EQ(r.addresses(), 0u);
  EXPECT_EQ(r.bytes(), 0u);
}

TEST_F(rates, a_limit_of_one_kind_does_not_concern_the_others) {
  rate_limiter r(requests(1));
  EXPECT_TRUE(r.limits(rate::requests));
  EXPECT_FALSE(r.limits(rate::messages));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(r.take(rate::connections, from(1)), none);
  EXPECT_EQ(r.addresses(), 0u);
}

TEST_F(rates, a_burst_passes_and_then_one_at_a_time) {
  rate_limiter r(requests(10, 5));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(r.take(rate::requests, from(1)), none) << i;
  EXPECT_EQ(r.take(rate::requests, from(1)), 100ms);
  EXPECT_EQ(r.take(rate::requests, from(1)), 100ms) << "what is refused is not charged";
  wait(60ms);
  EXPECT_EQ(r.take(rate::requests, from(1)), 40ms);
  wait(40ms);
  EXPECT_EQ(r.take(rate::requests, from(1)), none);
  EXPECT_EQ(r.take(rate::requests, from(1)), 100ms);
  wait(1h);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(r.take(rate::requests, from(1)), none) << i;
  EXPECT_GT(r.take(rate::requests, from(1)), none) << "a bucket holds no more than its burst";
}

TEST_F(rates, a_burst_of_zero_is_as_many_as_in_one_second) {
  rate_limiter r(requests(7));
  for (int i = 0; i < 7; ++i) EXPECT_EQ(r.take(rate::requests, from(1)), none) << i;
  EXPECT_GT(r.take(rate::requests, from(1)), none);
}

TEST_F(rates, each_address_has_its_own_limit) {
  rate_limiter r(requests(1, 1));
  EXPECT_EQ(r.take(rate::requests, from(1)), none);
  EXPECT_EQ(r.take(rate::requests, from(2)), none);
  EXPECT_EQ(r.take(rate::requests, from(1)), 1s);
  EXPECT_EQ(r.addresses(), 2u);
}

TEST_F(rates, a_rate_is_not_exceeded_in_the_long_run) {
  for (const std::uint64_t per_second : {1u, 3u, 7u, 1'000u, 999'983u}) {
    rate_limiter r(requests(per_second, 1));
    std::uint64_t taken = 0;
    const time_point end = clock::now() + 10s;
    while (clock::now() < end && taken < 20'000) {
      const duration more = r.take(rate::requests, from(1));
      more == none ? void(++taken) : wait(more);
    }
    const auto took = std::chrono::duration<double>(clock::now() - (end - 10s)).count();
    EXPECT_LE(static_cast<double>(taken), static_cast<double>(per_second) * took + 1) << per_second;
    EXPECT_GE(static_cast<double>(taken), static_cast<double>(per_second) * took * 0.99 - 1)
        << per_second;
  }
}

TEST_F(rates, usage_beyond_the_burst_is_a_debt_that_delays_the_address) {
  rate_limiter r({.tls_handshakes_per_second = 0,
                  .received_bytes_per_second = 1'000,
                  .received_bytes_burst = 2'000});
  EXPECT_EQ(r.charge(rate::received_bytes, from(1), 2'000), none);
  EXPECT_EQ(r.charge(rate::received_bytes, from(1), 500), 500ms);
  EXPECT_EQ(r.charge(rate::received_bytes, from(1), 500), 1s) << "of another connection";
  wait(1s);
  EXPECT_EQ(r.charge(rate::received_bytes, from(1), 0), none);
  EXPECT_EQ(r.charge(rate::received_bytes, from(1), 1), 1ms);
}

TEST_F(rates, a_pause_has_a_longest_time_and_so_has_the_debt) {
  rate_limiter r(
      {.tls_handshakes_per_second = 0, .received_bytes_per_second = 1, .received_bytes_burst = 1});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(r.charge(rate::received_bytes, from(1), std::uint64_t{1} << 62),
              rate_limiter::longest_pause);
  }
  wait(rate_limiter::longest_pause);
  EXPECT_EQ(r.charge(rate::received_bytes, from(1), 0), none);
}

TEST_F(rates, the_largest_rates_and_bursts_are_computed_without_overflow) {
  constexpr std::uint64_t GiB = 1024 * 1024 * 1024;
  rate_limiter r({.messages_per_second = 1,
                  .messages_burst = 1'000'000,
                  .received_bytes_per_second = GiB,
                  .received_bytes_burst = GiB});
  EXPECT_EQ(r.charge(rate::received_bytes, from(1), GiB), none);
  EXPECT_LE(r.charge(rate::received_bytes, from(1), GiB), 1100ms);
  EXPECT_EQ(r.charge(rate::messages, from(1), 1'000'000), none);
  EXPECT_EQ(r.charge(rate::messages, from(1), 1), 1s);
}

// ── The table ─────────────────────────────────────────────────────────────────────────────────

TEST_F(rates, an_address_whose_buckets_are_full_is_forgotten) {
  rate_limiter r(requests(10, 10));
  for (std::uint32_t i = 0; i < 1'000; ++i) EXPECT_EQ(r.take(rate::requests, from(i)), none);
  EXPECT_EQ(r.addresses(), 1'000u);
  wait(200ms);
  for (std::uint32_t i = 0; i < 200; ++i) (void)r.take(rate::requests, from(1'000'000 + i));
  EXPECT_EQ(r.addresses(), 200u);
  EXPECT_EQ(r.evicted(), 0u);
  const std::size_t before = r.bytes();
  wait(1h);
  for (std::uint32_t i = 0; i < 100; ++i) (void)r.take(rate::requests, from(2'000'000 + i));
  EXPECT_EQ(r.addresses(), 100u);
  EXPECT_LT(r.bytes(), before) << "its memory is returned when all are forgotten";
}

TEST_F(rates, an_address_that_has_used_much_is_not_forgotten_early) {
  rate_limiter r(requests(1, 100));
  for (int i = 0; i < 100; ++i) (void)r.take(rate::requests, from(1));
  for (std::uint32_t i = 2; i < 50; ++i) {
    wait(1s);
    (void)r.take(rate::requests, from(i));
  }
  int left = 0;
  while (r.take(rate::requests, from(1)) == none) ++left;
  EXPECT_EQ(left, 48);
}

TEST_F(rates, the_table_is_bounded_and_evicts_the_longest_idle_address) {
  limits of = requests(1, 1);
  of.rate_addresses_max = 100;
  rate_limiter r(of);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(r.take(rate::requests, from(i)), none);
  EXPECT_GT(r.take(rate::requests, from(0)), none) << "it is the newest now";
  EXPECT_EQ(r.take(rate::requests, from(100)), none);
  EXPECT_EQ(r.addresses(), 100u);
  EXPECT_EQ(r.evicted(), 1u);
  EXPECT_GT(r.take(rate::requests, from(0)), none) << "still known";
  EXPECT_EQ(r.take(rate::requests, from(1)), none) << "forgotten";
  for (std::uint32_t i = 0; i < 100'000; ++i) (void)r.take(rate::requests, from(i));
  EXPECT_EQ(r.addresses(), 100u);
}

TEST_F(rates, the_table_is_bounded_in_bytes) {
  for (const std::size_t loops : {1u, 2u, 16u}) {
    for (const std::size_t bytes : {64u * 1024, 100'000u, 1024u * 1024, 8u * 1024 * 1024}) {
      limits of = requests(1, 1'000);
      of.rate_addresses_bytes = bytes;
      rate_limiter r(of, loops);
      for (std::uint32_t i = 0; i < 200'000; ++i) {
        (void)r.take(rate::requests, from(i * 2'654'435'761u));
        if (i % 1'000 != 0) continue;
        ASSERT_LE(r.bytes(), bytes) << loops << " " << i;
      }
      EXPECT_LE(r.bytes(), bytes) << loops;
      EXPECT_GE(r.bytes(), bytes / 2) << loops << ": it uses what it may";
      EXPECT_GE(r.addresses(), bytes / 150) << loops;
    }
  }
}

TEST_F(rates, a_table_for_one_address_works) {
  limits of = requests(1, 1);
  of.rate_addresses_max = 1;
  rate_limiter r(of, 8);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(r.take(rate::requests, from(i)), none);
    EXPECT_EQ(r.take(rate::requests, from(i)), 1s);
  }
}

// ── Threads ───────────────────────────────────────────────────────────────────────────────────

TEST(rates_of_threads, no_more_than_the_burst_is_taken_by_all_together) {
  constexpr std::uint32_t addresses = 64;
  constexpr std::uint64_t burst = 100;
  limits of = requests(1, burst);
  of.rate_addresses_max = 1'000;
  rate_limiter r(of, 4);
  atomic<std::uint64_t> taken{0};
  std::vector<std::thread> all;
  for (int thread = 0; thread < 4; ++thread) {
    all.emplace_back([&] {
      for (std::uint64_t i = 0; i < burst; ++i) {
        for (std::uint32_t a = 0; a < addresses; ++a) {
          if (r.take(rate::requests, from(a)) == none) taken.fetch_add(1, relaxed);
        }
      }
    });
  }
  const time_point begin = clock::now();
  for (std::thread& each : all) each.join();
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(clock::now() - begin).count();
  EXPECT_GE(taken.load(relaxed), addresses * burst);
  EXPECT_LE(taken.load(relaxed), addresses * (burst + static_cast<std::uint64_t>(seconds) + 1));
}

}  // namespace
}  // namespace troupe::http::detail
