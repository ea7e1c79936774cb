// SPDX-License-Identifier: Apache-2.0
#include "victim_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

namespace troupe::detail {
namespace {

constexpr std::size_t most_workers = 64;
constexpr unsigned rounds = tuning::spin_rounds;
constexpr std::size_t in_a_round = tuning::search_victims;

/// The rings and the queue that one search looks at, in order.
struct looks {
  std::vector<std::vector<std::size_t>> rings = {{}};  // those before each look at the shared queue
  std::size_t at_queue = 0;
  std::size_t at_rings = 0;
  runnable* found = nullptr;
};

// `ring_with_work`: the number of that worker; `workers` or more: none. `queue_after`: the look at
// the shared queue that finds a runnable; 0: none does.
looks search(victim_search& how, std::size_t self, std::size_t workers, runnable& work,
             std::size_t ring_with_work = most_workers, std::size_t queue_after = 0,
             unsigned in_rounds = rounds) {
  looks seen;
  seen.found = how.run(
      self, workers, in_rounds,
      [&](std::size_t victim) -> runnable* {
        ++seen.at_rings;
        seen.rings.back().push_back(victim);
        return victim == ring_with_work ? &work : nullptr;
      },
      [&]() -> runnable* {
        seen.rings.emplace_back();
        return ++seen.at_queue == queue_after ? &work : nullptr;
      });
  return seen;
}

TEST(victim_search, that_finds_nothing_is_linear_in_the_number_of_workers) {
  runnable work;
  std::size_t before = 0;
  for (std::size_t workers = 1; workers <= most_workers; ++workers) {
    const std::size_t others = workers - 1;
    // The slope is one look a round up to `in_a_round` victims, and one look a search beyond.
    const std::size_t expected =
        others <= in_a_round ? rounds * others : rounds * in_a_round + others;
    for (std::size_t self = 0; self < workers; ++self) {
      victim_search how(static_cast<std::uint32_t>(self + 1));
      for (int again = 0; again < 3; ++again) {
        const looks seen = search(how, self, workers, work);
        ASSERT_EQ(seen.found, nullptr);
        ASSERT_EQ(seen.at_rings, expected) << workers << " workers, worker " << self;
        ASSERT_EQ(seen.at_queue, rounds);
      }
    }
    EXPECT_EQ(victim_search::looks_at_rings(workers, rounds), expected);
    if (others > in_a_round + 1) {
      EXPECT_EQ(expected - before, 1u) << "for one more worker";
    }
    before = expected;
  }
}

TEST(victim_search, makes_the_given_number_of_rounds) {
  runnable work;
  for (const unsigned in_rounds : {1u, 2u, 256u}) {
    for (const std::size_t workers : {1u, 2u, 5u, 6u, 64u}) {
      victim_search how(1);
      const looks seen = search(how, 0, workers, work, most_workers, 0, in_rounds);
      EXPECT_EQ(seen.at_rings, victim_search::looks_at_rings(workers, in_rounds));
      EXPECT_EQ(seen.at_queue, in_rounds);
    }
  }
}

TEST(victim_search, examines_each_other_ring_at_most_once_per_round) {
  runnable work;
  for (std::size_t workers = 1; workers <= most_workers; ++workers) {
    for (const std::size_t self : {std::size_t{0}, workers / 2, workers - 1}) {
      victim_search how(static_cast<std::uint32_t>(self + 1));
      const looks seen = search(how, self, workers, work);
      ASSERT_EQ(seen.rings.size(), rounds + 1);
      for (const std::vector<std::size_t>& round : seen.rings) {
        const std::set<std::size_t> different(round.begin(), round.end());
        ASSERT_EQ(different.size(), round.size());
        ASSERT_FALSE(different.contains(self));
        ASSERT_TRUE(different.empty() || *different.rbegin() < workers);
      }
      const std::size_t last = workers - 1 > in_a_round ? workers - 1 : 0;
      ASSERT_EQ(seen.rings.back().size(), last) << "the last pass examines all others";
    }
  }
}

TEST(victim_search, finds_work_wherever_it_is) {
  runnable work;
  for (std::size_t workers = 2; workers <= most_workers; ++workers) {
    for (std::size_t victim = 1; victim < workers; ++victim) {
      victim_search how(1);
      // With one round, most victims are found in the last pass only.
      const looks seen = search(how, 0, workers, work, victim, 0, 1);
      ASSERT_EQ(seen.found, &work) << workers << " workers, work at " << victim;
    }
  }
}

TEST(victim_search, ends_with_the_first_runnable) {
  runnable work;
  victim_search how(1);
  const looks in_ring = search(how, 0, 2, work, 1);
  EXPECT_EQ(in_ring.found, &work);
  EXPECT_EQ(in_ring.at_rings, 1u);
  EXPECT_EQ(in_ring.at_queue, 0u);
  const looks in_queue = search(how, 0, 8, work, most_workers, 2);
  EXPECT_EQ(in_queue.found, &work);
  EXPECT_EQ(in_queue.at_rings, 2 * in_a_round);
  EXPECT_EQ(in_queue.at_queue, 2u);
}

TEST(victim_search, does_not_always_begin_with_the_same_victim) {
  runnable work;
  constexpr std::size_t workers = 16;
  std::vector<int> first(workers);
  for (std::uint32_t seed = 1; seed <= workers; ++seed) {
    victim_search how(seed);
    for (const std::vector<std::size_t>& round : search(how, 0, workers, work).rings) {
      ++first[round.front()];
    }
  }
  // 65 rounds of each of 16 workers: 1,040 beginnings at 15 victims, 69 each if they were even.
  EXPECT_EQ(first[0], 0);
  EXPECT_GT(*std::min_element(first.begin() + 1, first.end()), 20);
  EXPECT_LT(*std::max_element(first.begin() + 1, first.end()), 210);
}

}  // namespace
}  // namespace troupe::detail
