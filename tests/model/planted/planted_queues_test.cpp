// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <cstdint>

// Bugs planted for the checker to find: queues. A structure is written once, and its parameter
// selects the line that is broken. The unbroken structure must hold, so that a finding means
// something.

namespace troupe {
namespace {

namespace ring {

enum class fault { none, tail_relaxed, head_relaxed, full_one_too_late };

// One thread pushes and one pops.
template <fault planted>
class ring {
 public:
  bool push(int value) {
    // [tail] relaxed: only this thread writes it.
    const std::uint32_t tail = tail_.load(relaxed);
    // [head] acquire: a cell is written only after it was read.
    const std::uint32_t in_use = tail - head_.load(acquire);
    if (planted == fault::full_one_too_late ? in_use > capacity : in_use == capacity) return false;
    cells_[tail % capacity] = value;
    // [tail] release: the cell that was written.
    tail_.store(tail + 1, planted == fault::tail_relaxed ? relaxed : release);
    return true;
  }

  bool pop(int& value) {
    // [head] relaxed: only this thread writes it.
    const std::uint32_t head = head_.load(relaxed);
    // [tail] acquire: a cell is read only after it was written.
    if (tail_.load(acquire) == head) return false;
    value = cells_[head % capacity];
    // [head] release: the cell has been read.
    head_.store(head + 1, planted == fault::head_relaxed ? relaxed : release);
    return true;
  }

 private:
  static constexpr std::uint32_t capacity = 2;

  atomic<std::uint32_t> head_{0};
  atomic<std::uint32_t> tail_{0};
  model::plain<int> cells_[capacity];
};

template <fault planted>
void three_go_through_two_cells() {
  ring<planted> between;
  jthread producer("producer", [&] {
    for (int i = 1; i <= 3; ++i) {
      while (!between.push(i)) cpu_relax();
    }
  });
  jthread consumer("consumer", [&] {
    for (int i = 1; i <= 3; ++i) {
      int value = 0;
      while (!between.pop(value)) cpu_relax();
      model::require(value == i, "values come out in the order in which they went in");
    }
  });
}

TEST(planted_ring, keeps_order_while_it_wraps_around) {
  model::expect_holds(three_go_through_two_cells<fault::none>);
}

TEST(planted_ring, with_a_relaxed_tail_reads_an_unwritten_cell) {
  model::expect_fails("data race: consumer reads", {},
                      three_go_through_two_cells<fault::tail_relaxed>);
}

TEST(planted_ring, with_a_relaxed_head_overwrites_a_cell_that_is_read) {
  model::expect_fails("data race: producer writes", {},
                      three_go_through_two_cells<fault::head_relaxed>);
}

TEST(planted_ring, that_is_full_one_too_late_overwrites_an_unread_cell) {
  model::expect_fails("broken promise: values come out in the order", {},
                      three_go_through_two_cells<fault::full_one_too_late>);
}

}  // namespace ring

namespace linked_queue {

enum class fault {
  none,
  linked_relaxed,
  entered_relaxed,
  stub_taken_for_a_message,
  stub_pushed_twice
};

struct message {
  explicit message(int of) : value(of) { model::name(next, "next"); }
  model::plain<int> value;
  atomic<message*> next{nullptr};
};

// D. Vyukov, «Intrusive MPSC node-based queue», 2010. Many threads push, one pops.
template <fault planted>
class linked_queue {
 public:
  void push(message& fresh) {
    // [link] relaxed: no other thread has the message yet.
    fresh.next.store(nullptr, relaxed);
    // [entry] acq_rel: the next pusher may write to this message, and this pusher to the one
    // before.
    message* const before =
        newest_.exchange(&fresh, planted == fault::entered_relaxed ? relaxed : acq_rel);
    // [link] release: a thread that follows the link sees the message.
    before->next.store(&fresh, planted == fault::linked_relaxed ? relaxed : release);
  }

  message* pop() {
    message* oldest = oldest_;
    message* next = oldest->next.load(acquire);  // [link]
    if (oldest == &stub_ && planted != fault::stub_taken_for_a_message) {
      if (next == nullptr) return nullptr;
      oldest_ = oldest = next;
      next = oldest->next.load(acquire);  // [link]
    }
    if (next == nullptr) {
      // The last message must not leave while it is the newest: the stub takes its place.
      // [entry] relaxed: only compared.
      const bool push_is_under_way = oldest != newest_.load(relaxed);
      if (push_is_under_way && planted != fault::stub_pushed_twice) return nullptr;
      push(stub_);
      next = oldest->next.load(acquire);  // [link]
      if (next == nullptr) return nullptr;
    }
    oldest_ = next;
    return oldest;
  }

 private:
  message stub_{0};
  atomic<message*> newest_{&stub_};
  message* oldest_ = &stub_;
};

template <fault planted>
void two_push_and_one_pops() {
  linked_queue<planted> queue;
  int sum = 0;
  const auto pop = [&] {
    message* const one = queue.pop();
    if (one == nullptr) return false;
    model::require(one->value != 0, "what comes out was put in");
    sum += one->value;
    delete one;
    return true;
  };
  {
    jthread left("left", [&] { queue.push(*new message(1)); });
    jthread right("right", [&] { queue.push(*new message(2)); });
    for (int i = 0; i < 3; ++i) pop();
  }
  while (pop()) {
  }
  model::require(sum == 3, "each message comes out once");
}

TEST(planted_linked_queue, gives_each_message_once) {
  model::expect_holds(two_push_and_one_pops<fault::none>);
}

TEST(planted_linked_queue, linked_with_relaxed_order_gives_an_unwritten_message) {
  model::expect_fails("which does not know of its construction", {},
                      two_push_and_one_pops<fault::linked_relaxed>);
}

TEST(planted_linked_queue, entered_with_relaxed_order_links_to_an_unmade_message) {
  model::expect_fails("which does not know of its construction", {},
                      two_push_and_one_pops<fault::entered_relaxed>);
}

TEST(planted_linked_queue, that_takes_its_stub_for_a_message_gives_it_away) {
  model::expect_fails("broken promise: what comes out was put in", {},
                      two_push_and_one_pops<fault::stub_taken_for_a_message>);
}

TEST(planted_linked_queue, that_pushes_its_stub_twice_gives_it_away) {
  model::expect_fails("broken promise: what comes out was put in", {},
                      two_push_and_one_pops<fault::stub_pushed_twice>);
}

}  // namespace linked_queue

namespace deque {

enum class fault { none, pushed_relaxed, popped_release, stolen_acquire, last_one_without_asking };

// D. Chase and Y. Lev, «Dynamic Circular Work-Stealing Deque», 2005, without wrapping around, and
// with seq_cst in place of fences. The owner pushes and pops, thieves steal.
template <fault planted>
class deque {
 public:
  static constexpr int none = 0;

  void push(int item) {
    // [bottom] relaxed: only the owner writes it.
    const int bottom = bottom_.load(relaxed);
    // [item] relaxed: ordered by the bottom.
    items_[bottom].store(item, relaxed);
    // [bottom] release: a thread that sees this bottom sees the item below it.
    bottom_.store(bottom + 1, planted == fault::pushed_relaxed ? relaxed : release);
  }

  int pop() {
    // [bottom] relaxed: only the owner writes it.
    const int bottom = bottom_.load(relaxed) - 1;
    bottom_.store(bottom, planted == fault::popped_release ? release : seq_cst);
    int top = top_.load(planted == fault::popped_release ? acquire : seq_cst);
    if (top > bottom) {
      // [bottom] relaxed: there is no item.
      bottom_.store(bottom + 1, relaxed);
      return none;
    }
    // [item] relaxed: it is this thread's own.
    const int item = items_[bottom].load(relaxed);
    if (top < bottom || planted == fault::last_one_without_asking) return item;
    // [top] relaxed: a thief may want it as well; one of the two exchanges fails.
    const bool mine = top_.compare_exchange_strong(top, top + 1, relaxed, relaxed);
    // [bottom] relaxed: there is no item.
    bottom_.store(bottom + 1, relaxed);
    return mine ? item : none;
  }

  int steal() {
    int top = top_.load(planted == fault::stolen_acquire ? acquire : seq_cst);
    const int bottom = bottom_.load(planted == fault::stolen_acquire ? acquire : seq_cst);
    if (top >= bottom) return none;
    // [item] relaxed: ordered by the bottom.
    const int item = items_[top].load(relaxed);
    // [top] relaxed: as in pop().
    return top_.compare_exchange_strong(top, top + 1, relaxed, relaxed) ? item : none;
  }

 private:
  // [top, bottom] seq_cst in pop() and steal(): either the owner sees that the thief has moved the
  // top, or the thief sees that the owner has moved the bottom. With a weaker order, both may miss
  // it, and both take the same item.
  atomic<int> top_{0};
  atomic<int> bottom_{0};
  atomic<int> items_[4];
};

template <fault planted>
void one_thief() {
  deque<planted> items;
  atomic<int> times_taken[3];
  const auto take = [&](int item) {
    if (item == deque<planted>::none) return;
    // [taken] relaxed: only counted.
    model::require(times_taken[item].fetch_add(1, relaxed) == 0, "an item is taken once");
  };
  {
    jthread owner("owner", [&] {
      items.push(1);
      items.push(2);
      take(items.pop());
    });
    jthread thief("thief", [&] {
      for (int i = 0; i < 2; ++i) {
        const int item = items.steal();
        take(item);
      }
    });
  }
  for (int item = items.pop(); item != deque<planted>::none; item = items.pop()) take(item);
  model::require(times_taken[1].load(relaxed) == 1, "the first item is not lost");
  model::require(times_taken[2].load(relaxed) == 1, "the second item is not lost");
}

TEST(planted_deque, gives_each_item_once) { model::expect_holds(one_thief<fault::none>); }

TEST(planted_deque, pushed_with_relaxed_order_gives_an_unwritten_item) {
  model::expect_fails("broken promise: the first item is not lost", {},
                      one_thief<fault::pushed_relaxed>);
}

TEST(planted_deque, popped_without_seq_cst_gives_an_item_twice) {
  model::expect_fails("broken promise: an item is taken once", {},
                      one_thief<fault::popped_release>);
}

TEST(planted_deque, stolen_from_without_seq_cst_gives_an_item_twice) {
  model::expect_fails("broken promise: an item is taken once", {},
                      one_thief<fault::stolen_acquire>);
}

TEST(planted_deque, whose_owner_takes_the_last_item_unchecked_returns_it_twice) {
  model::expect_fails("broken promise: an item is taken once", {},
                      one_thief<fault::last_one_without_asking>);
}

}  // namespace deque

}  // namespace
}  // namespace troupe
