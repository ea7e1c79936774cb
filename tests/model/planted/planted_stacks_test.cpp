// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <cstdint>

// Bugs planted for the checker to find: stacks. A structure is written once, and its parameter
// selects the line that is broken. The unbroken structure must hold, so that a finding means
// something.

namespace troupe {
namespace {

namespace treiber_stack {

enum class fault {
  none,
  pushed_relaxed,
  popped_relaxed,
  pops_without_comparing,
  deletes_at_once,
  pushes_another_after_a_failure
};

struct node {
  model::plain<node*> next{nullptr};
  model::plain<int> value{1};
};

// R. K. Treiber, «Systems Programming: Coping with Parallelism», 1986. Popped nodes are deleted
// when no thread uses the stack any more.
template <fault planted>
class treiber_stack {
 public:
  treiber_stack() = default;
  treiber_stack(const treiber_stack&) = delete;
  treiber_stack& operator=(const treiber_stack&) = delete;
  ~treiber_stack() {
    while (const node* const one = pop()) delete one;
  }

  void push() {
    node* fresh = new node;
    node* next = top_.load(relaxed);  // checked by the exchange
    for (;;) {
      fresh->next = next;
      if (top_.compare_exchange_weak(next, fresh, pushing, relaxed)) return;
      if constexpr (planted == fault::pushes_another_after_a_failure) fresh = new node;
    }
  }

  node* pop() {
    node* one = top_.load(popping);
    if constexpr (planted == fault::pops_without_comparing) {
      if (one != nullptr) top_.store(one->next, relaxed);
      return one;
    }
    // [top] relaxed: the contents of the node have been seen.
    while (one != nullptr && !top_.compare_exchange_weak(one, one->next, relaxed, popping)) {
    }
    return one;
  }

 private:
  // [top] release and acquire: a thread that sees the node sees its contents.
  static constexpr auto pushing = planted == fault::pushed_relaxed ? relaxed : release;
  static constexpr auto popping = planted == fault::popped_relaxed ? relaxed : acquire;

  atomic<node*> top_{nullptr};
};

template <fault planted, bool push_first>
void two_pop() {
  treiber_stack<planted> stack;
  node* popped[2] = {};
  const auto work = [&](int self) {
    if (push_first) stack.push();
    node* const one = stack.pop();
    model::require(one != nullptr, "there is a node for each");
    model::require(one->value == 1, "a node is popped whole");
    if constexpr (planted == fault::deletes_at_once) {
      delete one;
    } else {
      popped[self] = one;
    }
  };
  if (!push_first) stack.push();
  if (!push_first) stack.push();
  {
    jthread left("left", [&] { work(0); });
    jthread right("right", [&] { work(1); });
  }
  for (const node* const each : popped) delete each;
}

TEST(planted_treiber_stack, pops_items_that_are_pushed_concurrently) {
  model::expect_holds(two_pop<fault::none, true>);
}

TEST(planted_treiber_stack, gives_each_node_once) {
  model::expect_holds(two_pop<fault::none, false>);
}

TEST(planted_treiber_stack, pushed_with_relaxed_order_gives_an_unwritten_node) {
  model::expect_fails("data race: left reads", {}, two_pop<fault::pushed_relaxed, true>);
}

TEST(planted_treiber_stack, popped_with_relaxed_order_gives_an_unwritten_node) {
  model::expect_fails("data race: left reads", {}, two_pop<fault::popped_relaxed, true>);
}

TEST(planted_treiber_stack, that_pops_without_comparing_gives_a_node_twice) {
  model::expect_fails("double free: a block", {}, two_pop<fault::pops_without_comparing, false>);
}

TEST(planted_treiber_stack, that_deletes_at_once_reads_a_node_after_its_end) {
  model::expect_fails("use after free: memory", {}, two_pop<fault::deletes_at_once, false>);
}

TEST(planted_treiber_stack, that_pushes_another_node_after_a_failure_leaks_the_first) {
  model::expect_fails("leak: a block", {}, two_pop<fault::pushes_another_after_a_failure, true>);
}

}  // namespace treiber_stack

namespace free_list {

enum class fault { none, changes_not_counted };

constexpr std::int16_t nobody = -1;

// A Treiber stack of places, which are returned to it.
template <fault planted>
class free_list {
 public:
  std::int16_t take() {
    head now = head_.load(acquire);  // [head] the work of its last holder
    for (;;) {
      if (now.first == nobody) return nobody;
      // [next] relaxed: ordered by the head.
      const std::int16_t next = next_[now.first].load(relaxed);
      // [head] relaxed: that has been seen. Acquire on failure: the new head is another holder's.
      if (head_.compare_exchange_weak(now, after(now, next), relaxed, acquire)) return now.first;
    }
  }

  void give(std::int16_t place) {
    head now = head_.load(relaxed);  // checked by the exchange
    for (;;) {
      next_[place].store(now.first, relaxed);  // [next]
      // [head] release: the work of this holder.
      if (head_.compare_exchange_weak(now, after(now, place), release, relaxed)) return;
    }
  }

 private:
  struct head {
    std::int16_t first;
    std::uint16_t changes;  // distinguishes a head that returned from the earlier one (ABA)
  };
  static head after(head now, std::int16_t first) {
    const int by = planted == fault::changes_not_counted ? 0 : 1;
    return {first, static_cast<std::uint16_t>(now.changes + by)};
  }

  atomic<head> head_{head{0, 0}};
  atomic<std::int16_t> next_[3] = {1, 2, nobody};
};

template <fault planted>
void two_hold_places() {
  free_list<planted> places;
  atomic<bool> held[3];
  const auto take = [&] {
    const std::int16_t place = places.take();
    if (place == nobody) return place;
    // [held] relaxed: ordered by the free list.
    model::require(!held[place].exchange(true, relaxed), "a place is held by one");
    return place;
  };
  jthread left("left", [&] {
    take();
    take();
  });
  jthread right("right", [&] {
    const std::int16_t first = take();
    take();
    if (first == nobody) return;
    held[first].store(false, relaxed);  // [held]
    places.give(first);
  });
}

TEST(planted_free_list, gives_each_place_to_one) {
  model::expect_holds(two_hold_places<fault::none>);
}

TEST(planted_free_list, that_does_not_count_its_changes_takes_a_head_for_another) {
  model::expect_fails("broken promise: a place is held by one", {},
                      two_hold_places<fault::changes_not_counted>);
}

}  // namespace free_list

}  // namespace
}  // namespace troupe
