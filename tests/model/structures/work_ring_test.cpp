// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <troupe/detail/sync/work_ring.hpp>

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct item {
  plain<int> content{0};
  plain<int> times_taken{0};

  void take() {
    require(content == 1, "an item is filled before it can be taken");
    times_taken = times_taken + 1;
  }
};

template <std::size_t Count>
void require_each_taken_once(std::array<item, Count>& items) {
  for (item& each : items) require(each.times_taken == 1, "each is taken once");
}

using ring = work_ring<item, 2>;

void push(ring& to, item& one) {
  one.content = 1;
  if (to.push(&one)) return;
  model::seen("it is full");
  one.take();
}

void take_all(ring& from) {
  while (item* const one = from.pop()) one->take();
}

void steal(ring& from, ring& mine) {
  item* first = nullptr;
  if (!varies(from.steal_half_into(mine, first) != 0, "there is something")) return;
  first->take();
  take_all(mine);
}

TEST(work_ring, each_item_is_popped_or_stolen_once) {
  expect_holds([] {
    ring queue;
    ring other_queue;
    std::array<item, 2> items;
    {
      jthread thief([&] { steal(queue, other_queue); });
      push(queue, items[0]);
      push(queue, items[1]);
      take_all(queue);
    }
    require_each_taken_once(items);
  });
}

TEST(work_ring, a_slot_is_reused_only_after_it_was_read) {
  expect_holds({.sees = {"it is full"}}, [] {
    ring queue;
    ring other_queue;
    std::array<item, 4> items;
    {
      jthread thief([&] { steal(queue, other_queue); });
      for (item& each : items) push(queue, each);
      take_all(queue);
    }
    require_each_taken_once(items);
  });
}

TEST(work_ring, two_thieves_take_different_items) {
  expect_holds({.preemptions = 2}, [] {
    ring queue;
    ring one_queue;
    ring other_queue;
    std::array<item, 2> items;
    push(queue, items[0]);
    push(queue, items[1]);
    {
      jthread one([&] { steal(queue, one_queue); });
      jthread other([&] { steal(queue, other_queue); });
      take_all(queue);
    }
    require_each_taken_once(items);
  });
}

TEST(work_ring, half_of_it_is_taken_for_a_ring_that_overflows) {
  expect_holds([] {
    ring queue;
    ring other_queue;
    std::array<item, 3> items;
    {
      jthread thief([&] {
        steal(queue, other_queue);
        steal(queue, other_queue);
      });
      push(queue, items[0]);
      push(queue, items[1]);
      std::array<item*, 1> half{};
      const bool is_taken = queue.take_half(half.data(), half.size()) == 1;
      if (varies(is_taken, "nobody else has it")) half[0]->take();
      push(queue, items[2]);
      take_all(queue);
    }
    require_each_taken_once(items);
  });
}

TEST(work_ring, stolen_items_may_be_stolen_again) {
  using larger_ring = work_ring<item, 4>;
  expect_holds([] {
    larger_ring queue;
    larger_ring one_queue;
    larger_ring other_queue;
    std::array<item, 3> items;
    {
      jthread one([&] {
        item* first = nullptr;
        const bool is_stolen = queue.steal_half_into(one_queue, first) != 0;
        if (varies(is_stolen, "there is something")) first->take();
      });
      jthread other([&] {
        item* first = nullptr;
        const bool is_stolen = one_queue.steal_half_into(other_queue, first) != 0;
        if (varies(is_stolen, "there is something again")) first->take();
      });
      for (item& each : items) {
        each.content = 1;
        require(queue.push(&each), "there is room");
      }
    }
    for (larger_ring* each : {&queue, &one_queue, &other_queue}) {
      while (item* const left = each->pop()) left->take();
    }
    require_each_taken_once(items);
  });
}

// The protocol by which a sleeper and a thread that pushes work must not miss each other.
TEST(work_ring, a_push_sees_the_sleeper_or_the_sleeper_sees_the_item) {
  expect_holds([] {
    ring queue;
    item one;
    atomic<bool> asleep{false};
    bool saw_item = false;
    bool saw_sleeper = false;
    {
      jthread sleeper([&] {
        asleep.store(true, seq_cst);
        saw_item = !queue.empty();
      });
      push(queue, one);
      saw_sleeper = asleep.load(seq_cst);
    }
    require(saw_item || saw_sleeper, "one of them sees the other");
    varies(saw_item, "the sleeper sees the item");
    varies(saw_sleeper, "the sleeper is seen");
    take_all(queue);
  });
}

}  // namespace
}  // namespace troupe
