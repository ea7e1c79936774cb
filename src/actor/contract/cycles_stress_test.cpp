// SPDX-License-Identifier: Apache-2.0
// Graphs that threads build and drop, while others search, lock weak references, and send.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <random>
#include <troupe/detail/sync/thread.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/cycles_test_support.hpp"
#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

// A few addresses that any thread may try.
class notice_board {
 public:
  void put(std::size_t at, const weak_ref<node>& who) {
    const std::lock_guard lock(mutex_);
    places_[at % places_.size()] = who;
  }
  [[nodiscard]] weak_ref<node> get(std::size_t at) const {
    const std::lock_guard lock(mutex_);
    return places_[at % places_.size()];
  }

 private:
  mutable mutex mutex_;
  std::vector<weak_ref<node>> places_{64};
};

constexpr int graphs = sanitized ? 60 : 400;

void build_and_drop(troupe::system& in, notice_board& board, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < graphs; ++i) {
    std::vector<ref<node>> all(1 + random() % 12);
    for (auto& each : all) {
      each = in.spawn<node>();
      board.put(random(), each);
    }
    for (std::size_t edges = random() % (3 * all.size()); edges-- != 0;) {
      all[random() % all.size()].send(hold{all[random() % all.size()]});
    }
  }
}

// An actor that can be locked is alive, and so are the actors that it holds.
void come_by(notice_board& board, std::uint64_t seed, const atomic<bool>& is_over,
             atomic<int>& broken) {
  std::mt19937_64 random(seed);
  while (!is_over.load(relaxed)) {
    const ref<node> locked = board.get(random()).lock();
    if (!locked) continue;
    const auto look = [&broken](node& me) {
      for (const ref<node>& each : me.peers()) {
        if (each.send(act{}) != delivery::accepted) broken.fetch_add(1, relaxed);
      }
    };
    if (locked.send(act{look}) != delivery::accepted) broken.fetch_add(1, relaxed);
    if (random() % 4 == 0) {
      if (const ref<node> other = board.get(random()).lock()) locked.send(hold{other});
    }
  }
}

TEST(cycles, in_random_graphs_are_collected_and_referenced_actors_stay) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  atomic<int> broken{0};
  system_options options = searched_by_hand();
  options.cycle_search = 1ms;
  options.max_messages = options.max_bytes = no_limit;
  troupe::system all(options);
  notice_board board;
  atomic<bool> is_over{false};
  {
    jthread visitor([&] { come_by(board, seed + 1, is_over, broken); });
    jthread searcher([&] {
      while (!is_over.load(relaxed)) (void)all.collect_cycles();
    });
    {
      jthread builder([&] { build_and_drop(all, board, seed + 2); });
      build_and_drop(all, board, seed + 3);
    }
    is_over.store(true, relaxed);
  }
  EXPECT_TRUE(eventually([&] {
    (void)all.collect_cycles();
    return all.statistics().actors_alive == 0;
  }));
  EXPECT_EQ(broken.load(relaxed), 0) << "seed " << seed;
  EXPECT_EQ(all.statistics().dead_letters, 0u) << "seed " << seed;
}

// Rings that terminate while another thread continually accesses their members.
TEST(cycles, handle_messages_sent_through_a_weak_ref_before_they_terminate) {
  constexpr int rounds = sanitized ? 3 : 10;
  constexpr int visits = 300;
  constexpr std::size_t members = 50;
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  troupe::system all(searched_by_hand());
  for (int round = 0; round < rounds; ++round) {
    std::vector<weak_ref<node>> places;
    {
      std::vector<ref<node>> ring(members);
      for (auto& each : ring) places.emplace_back(each = all.spawn<node>());
      for (std::size_t i = 0; i < members; ++i) ring[i].send(hold{ring[(i + 1) % members]});
    }
    atomic<int> sent{0};
    atomic<int> handled{0};
    atomic<bool> is_over{false};
    {
      jthread visitor([&] {
        std::mt19937_64 random(seed + static_cast<std::uint64_t>(round));
        for (int visit = 0; visit < visits && !is_over.load(relaxed); ++visit) {
          const ref<node> one = places[random() % members].lock();
          if (!one) continue;
          sent.fetch_add(1, relaxed);
          const auto look = [&](node& me) {
            (void)me.peers().at(0).send(act{});  // that one exists, too: no dead letter
            handled.fetch_add(1, relaxed);
          };
          ASSERT_EQ(one.send(act{look}), delivery::accepted);
          for (int pause = static_cast<int>(random() % 2'000); pause != 0; --pause) cpu_relax();
        }
      });
      std::size_t found = 0;
      ASSERT_TRUE(eventually([&] { return (found += all.collect_cycles()) == members; }));
      is_over.store(true, relaxed);
    }
    ASSERT_TRUE(eventually([&] { return all.statistics().actors_alive == 0; }));
    ASSERT_EQ(handled.load(relaxed), sent.load(relaxed)) << "seed " << seed;
  }
  EXPECT_EQ(all.statistics().dead_letters, 0u) << "seed " << seed;
}

}  // namespace
}  // namespace troupe::test
