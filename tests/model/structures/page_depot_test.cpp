// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/memory/magazine.hpp>

#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <cstddef>
#include <memory>
#include <new>
#include <troupe/detail/memory/page_depot.hpp>
#include <troupe/detail/memory/poison.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/per_thread.hpp>
#include <vector>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

// The contents of a block while it is in use.
struct content {
  explicit content(int of) : owner(of) {}
  plain<int> owner;
};

constexpr block_shape shape{.bytes = 64, .link_offset = 16, .batch = 2};
// Two chunks of two blocks.
constexpr chunk_layout layout{
    .slab_bytes = 4096, .head_bytes = 2048, .chunk_bytes = 128, .chunks = 2, .blocks = 2};
static_assert(sizeof(content) <= shape.link_offset);

struct listener final : surplus_listener {
  // [asked] relaxed: a count.
  void on_surplus() noexcept override { asked.fetch_add(1, relaxed); }
  atomic<int> asked{0};
};

// A user that is left at its end must have given everything back: the checker finds leaks.
struct test_depot {
  surplus_signal signal;
  page_depot all{shape, layout, 2 * 64, signal};

  test_depot() = default;
  test_depot(const test_depot&) = delete;
  test_depot& operator=(const test_depot&) = delete;
  ~test_depot() {
    round();
    round();
    require(all.used().resident == 0, "all memory goes back");
  }

  // Like pool_trim(); one thread at a time.
  bool round() {
    signal.lower();
    const bool later = all.look();
    while (all.give_back_some()) {
    }
    return later;
  }
};

using batch = std::vector<void*>;

batch take_and_fill(test_depot& from, int who) {
  std::array<void*, batch_max> got;
  const std::size_t count = from.all.take(got);
  for (std::size_t i = 0; i < count; ++i) {
    unpoison(got[i], shape.bytes);
    ::new (got[i]) content(who);
  }
  return std::vector<void*>(got.data(), got.data() + count);
}

void look_at_and_give(test_depot& to, const batch& those, int who) {
  for (void* at : those) {
    auto* const it = static_cast<content*>(at);
    require(it->owner == who, "nobody else has it");
    std::destroy_at(it);
  }
  to.all.give(those);
}

// ── The depot ─────────────────────────────────────────────────────────────────────────────────

TEST(page_depot, each_block_has_one_owner) {
  expect_holds([] {
    test_depot depot;
    const auto take_and_give = [&](int who) {
      for (int i = 0; i < 2; ++i) look_at_and_give(depot, take_and_fill(depot, who), who);
    };
    jthread other([&] { take_and_give(1); });
    take_and_give(2);
  });
}

TEST(page_depot, memory_in_use_is_not_returned) {
  expect_holds([] {
    test_depot depot;
    {
      jthread user([&] {
        const batch one = take_and_fill(depot, 1);
        const batch other = take_and_fill(depot, 2);
        look_at_and_give(depot, one, 1);
        look_at_and_give(depot, other, 2);
        look_at_and_give(depot, take_and_fill(depot, 3), 3);
      });
      for (int i = 0; i < 3; ++i) (void)depot.round();
    }
  });
}

TEST(page_depot, two_that_take_and_give_meet_one_that_trims) {
  expect_holds({.preemptions = 2}, [] {
    test_depot depot;
    const auto take_twice_and_give = [&](int who) {
      const batch one = take_and_fill(depot, who);
      const batch other = take_and_fill(depot, who);
      look_at_and_give(depot, one, who);
      look_at_and_give(depot, other, who);
    };
    jthread one([&] { take_twice_and_give(1); });
    jthread other([&] { take_twice_and_give(2); });
    (void)depot.round();
    (void)depot.round();
  });
}

TEST(page_depot, memory_used_since_the_last_round_stays) {
  expect_holds([] {
    test_depot depot;
    look_at_and_give(depot, take_and_fill(depot, 1), 1);
    {
      jthread user([&] { look_at_and_give(depot, take_and_fill(depot, 2), 2); });
      (void)depot.round();
    }
    require(depot.all.used().given_back == 0, "it was used in the meantime, or not yet settled");
  });
}

// A thread that sleeps until it is notified, and then trims, leaves nothing to give back.
TEST(page_depot, a_sleeping_listener_is_notified_of_a_surplus) {
  expect_holds([] {
    struct sleeper final : surplus_listener {
      void on_surplus() noexcept override { wake.notify(); }
      parker wake;
    } trimmer;
    test_depot depot;
    depot.signal.add(trimmer);
    const batch one = take_and_fill(depot, 1);
    const batch other = take_and_fill(depot, 1);
    {
      jthread user([&] {
        look_at_and_give(depot, one, 1);
        look_at_and_give(depot, other, 1);
      });
      while (depot.all.used().resident > 0) {
        trimmer.wake.park();
        while (depot.round()) {
        }
      }
    }
    depot.signal.remove(trimmer, false);
  });
}

// ── The signal ────────────────────────────────────────────────────────────────────────────────

TEST(surplus_signal, a_notified_listener_that_leaves_passes_it_to_another) {
  expect_holds([] {
    surplus_signal signal;
    listener one;
    listener other;
    signal.add(one);
    signal.add(other);
    {
      jthread teller([&] { signal.raise(); });
      signal.remove(one, varies(one.asked.load(relaxed) > 0, "it was told"));  // [asked]
    }
    require(other.asked.load(relaxed) == 1, "whoever was told first");
    signal.remove(other, false);
  });
}

// ── The cache of each thread ──────────────────────────────────────────────────────────────────

struct cache_of_test;

content* take(test_depot& from, int who) {
  return ::new (per_thread<thread_cache<page_depot>, cache_of_test>::here().take(
      &from.all, 0, shape)) content(who);
}

void give(test_depot& to, content* one, int who) {
  require(one->owner == who, "nobody else has it");
  std::destroy_at(one);
  per_thread<thread_cache<page_depot>, cache_of_test>::here().give(&to.all, 0, shape, one);
}

TEST(thread_cache, a_block_may_be_released_by_another_thread_during_a_trim) {
  expect_holds({.preemptions = 2}, [] {
    test_depot depot;
    std::array<content*, 3> handed{};
    parker receiver;
    {
      jthread giver([&] {
        for (content*& each : handed) each = take(depot, 1);
        receiver.notify();
        give(depot, take(depot, 2), 2);
      });
      jthread taker([&] {
        receiver.park();
        for (content* each : handed) give(depot, each, 1);
      });
      (void)depot.round();
      (void)depot.round();
    }
  });
}

}  // namespace
}  // namespace troupe::detail
