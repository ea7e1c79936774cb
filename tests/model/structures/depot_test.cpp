// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/memory/depot.hpp>

#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <cstddef>
#include <new>
#include <troupe/detail/memory/magazine.hpp>
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

// The first words of a block. The pool leaves them alone while the block is free.
struct block {
  plain<int> construction{1};
  plain<int> holders{0};

  void take() {
    require(construction == 1, "it is constructed once");
    holders = holders + 1;
    require(holders == 1, "nobody else has it");
  }
  void give() { holders = holders - 1; }
};

constexpr block_shape shape{.bytes = 64, .link_offset = 16, .batch = 2};
constexpr slab_shape slabs{.bytes = cache_line_bytes + 4 * 64,
                           .construct = [](void* at) noexcept { ::new (at) block; }};
static_assert(sizeof(block) <= shape.link_offset);
static_assert(is_well_formed(shape));

// A real depot never gives its slabs back; this one ends with the execution.
struct test_depot {
  depot all{shape, slabs};

  test_depot() = default;
  test_depot(const test_depot&) = delete;
  test_depot& operator=(const test_depot&) = delete;
  ~test_depot() {
    std::vector<std::byte*> those;
    const std::byte* last = nullptr;
    all.for_each_block([&](void* at) {
      auto* const here = static_cast<std::byte*>(at);
      if (last == nullptr || here != last + shape.bytes) those.push_back(here - cache_line_bytes);
      last = here;
    });
    for (std::byte* each : those) ::operator delete(each, std::align_val_t{cache_line_bytes});
  }

  [[nodiscard]] std::size_t slab_count() const { return all.bytes() / slabs.bytes; }
};

// A batch, in the form in which a depot gives and takes it.
std::vector<void*> take_batch(test_depot& from) {
  std::array<void*, batch_max> got;
  const std::size_t count = from.all.take(got);
  for (std::size_t i = 0; i < count; ++i) {
    unpoison(got[i], shape.bytes);  // like a thread that takes it from its cache
    static_cast<block*>(got[i])->take();
  }
  return std::vector<void*>(got.data(), got.data() + count);
}

void give_batch(test_depot& to, const std::vector<void*>& batch) {
  for (void* each : batch) static_cast<block*>(each)->give();
  to.all.give(batch);
}

// ── The depot ─────────────────────────────────────────────────────────────────────────────────

TEST(depot, each_block_has_one_owner) {
  expect_holds([] {
    test_depot depot;
    const auto take_and_give = [&] {
      for (int i = 0; i < 2; ++i) give_batch(depot, take_batch(depot));
    };
    {
      jthread other(take_and_give);
      take_and_give();
    }
    require(depot.slab_count() == 1, "two batches come from one slab");
  });
}

TEST(depot, a_walk_over_all_blocks_finds_them_constructed) {
  expect_holds([] {
    test_depot depot;
    {
      jthread other([&] {
        for (int i = 0; i < 3; ++i) (void)take_batch(depot);
      });
      std::size_t count = 0;
      depot.all.for_each_block([&](void* at) {
        ++count;
        require(static_cast<block*>(at)->construction == 1, "it is constructed");
      });
      require(count % shape.batch == 0, "a batch is made at once");
      varies(count == 0, "none is made yet");
      varies(count == 6, "all are made");
    }
    require(depot.slab_count() == 2, "three batches come from two slabs");
  });
}

TEST(depot, a_walk_over_all_blocks_finds_each_that_was_handed_out_before) {
  expect_holds([] {
    test_depot depot;
    parker walker;
    jthread other([&] {
      (void)take_batch(depot);
      walker.notify();
      std::array<void*, batch_max> more;
      (void)depot.all.take(more);
    });
    walker.park();
    int out = 0;
    depot.all.for_each_block([&](void* at) { out += static_cast<block*>(at)->holders; });
    require(out == 2, "both are found");
  });
}

// ── The cache of each thread ──────────────────────────────────────────────────────────────────

struct cache_of_test;

block* take(test_depot& from) {
  auto* const taken = static_cast<block*>(
      per_thread<thread_cache<depot>, cache_of_test>::here().take(&from.all, 0, shape));
  taken->take();
  return taken;
}

void give(test_depot& to, block* one) {
  one->give();
  per_thread<thread_cache<depot>, cache_of_test>::here().give(&to.all, 0, shape, one);
}

TEST(thread_cache, a_block_may_be_released_by_another_thread) {
  expect_holds({.preemptions = 2}, [] {
    test_depot depot;
    std::array<block*, 3> handed{};
    parker receiver;
    {
      jthread giver([&] {
        for (block*& each : handed) each = take(depot);
        receiver.notify();
        give(depot, take(depot));
      });
      jthread taker([&] {
        block* const own = take(depot);
        receiver.park();
        for (block* each : handed) give(depot, each);
        give(depot, own);
      });
    }
    require(depot.slab_count() <= 2, "five blocks and what is cached need two slabs");
  });
}

TEST(thread_cache, blocks_left_by_an_exited_thread_are_used_again) {
  expect_holds([] {
    test_depot depot;
    const auto take_some_and_give_them = [&] {
      std::array<block*, 3> some{};
      for (block*& each : some) each = take(depot);
      for (block* each : some) give(depot, each);
    };
    { jthread first(take_some_and_give_them); }
    require(depot.slab_count() == 1, "three blocks come from one slab");
    { jthread second(take_some_and_give_them); }
    require(depot.slab_count() == 1, "the same come from the depot");
  });
}

TEST(thread_cache, two_that_end_at_once_lose_nothing) {
  expect_holds([] {
    test_depot depot;
    const auto take_two_and_give_them = [&] {
      block* const first = take(depot);
      block* const second = take(depot);
      give(depot, first);
      give(depot, second);
    };
    {
      jthread one(take_two_and_give_them);
      jthread other(take_two_and_give_them);
    }
    std::size_t left = 0;
    while (left < 4) left += take_batch(depot).size();
    require(left == 4 && depot.slab_count() == 1, "all blocks are in the depot");
  });
}

}  // namespace
}  // namespace troupe::detail
