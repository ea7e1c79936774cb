// SPDX-License-Identifier: Apache-2.0
// Two threads and two locations. The names are those of the literature: Alglave, Maranget,
// Tautschnig, «Herding Cats», 2014. The results are those of the C++20 standard.
#include "litmus.hpp"

namespace troupe::model {
namespace {

// Each thread stores to one location and loads the other: may both loads miss the stores?
template <std::memory_order Store, std::memory_order Load>
result store_buffering() {
  atomic<int> x{0};
  atomic<int> y{0};
  int a = 0;
  int b = 0;
  {
    jthread other([&] {
      x.store(1, Store);
      a = y.load(Load);
    });
    y.store(1, Store);
    b = x.load(Load);
  }
  return seen(a, b);
}

TEST(store_buffering, with_relaxed_order_both_threads_may_miss_the_other_store) {
  expect_results({"00", "01", "10", "11"}, store_buffering<relaxed, relaxed>);
}
TEST(store_buffering, with_release_and_acquire_both_threads_may_miss_the_other_store) {
  expect_results({"00", "01", "10", "11"}, store_buffering<release, acquire>);
}
TEST(store_buffering, with_seq_cst_at_least_one_thread_sees_the_other_store) {
  expect_results({"01", "10", "11"}, store_buffering<seq_cst, seq_cst>);
}
TEST(store_buffering, seq_cst_loads_alone_do_not_help) {
  expect_results({"00", "01", "10", "11"}, store_buffering<relaxed, seq_cst>);
}
TEST(store_buffering, seq_cst_stores_alone_do_not_help) {
  expect_results({"00", "01", "10", "11"}, store_buffering<seq_cst, acquire>);
}

template <std::memory_order Change>
result store_buffering_by_exchange() {
  atomic<int> x{0};
  atomic<int> y{0};
  int a = 0;
  int b = 0;
  {
    jthread other([&] {
      x.exchange(1, Change);
      a = y.load(Change == seq_cst ? seq_cst : acquire);
    });
    y.exchange(1, Change);
    b = x.load(Change == seq_cst ? seq_cst : acquire);
  }
  return seen(a, b);
}

TEST(store_buffering, an_exchange_is_no_fence) {
  expect_results({"00", "01", "10", "11"}, store_buffering_by_exchange<acq_rel>);
}
TEST(store_buffering, seq_cst_exchanges_are_in_one_order) {
  expect_results({"01", "10", "11"}, store_buffering_by_exchange<seq_cst>);
}

// A value, and then a flag that announces it.
template <std::memory_order Store, std::memory_order Load>
result message_passing() {
  atomic<int> value{0};
  atomic<int> flag{0};
  int a = 0;
  int b = 0;
  {
    jthread other([&] {
      value.store(1, relaxed);
      flag.store(1, Store);
    });
    a = flag.load(Load);
    b = value.load(relaxed);
  }
  return seen(a, b);
}

TEST(message_passing, with_relaxed_order_the_flag_may_be_seen_before_the_value) {
  expect_results({"00", "01", "10", "11"}, message_passing<relaxed, relaxed>);
}
TEST(message_passing, a_release_alone_does_not_help) {
  expect_results({"00", "01", "10", "11"}, message_passing<release, relaxed>);
}
TEST(message_passing, an_acquire_alone_does_not_help) {
  expect_results({"00", "01", "10", "11"}, message_passing<relaxed, acquire>);
}
TEST(message_passing, with_release_and_acquire_the_flag_shows_the_value) {
  expect_results({"00", "01", "11"}, message_passing<release, acquire>);
}
TEST(message_passing, seq_cst_does_as_well) {
  expect_results({"00", "01", "11"}, message_passing<seq_cst, seq_cst>);
}

// Two threads store to both, in opposite orders: may the first stores be the last ones?
template <std::memory_order Store>
result two_plus_two_writes() {
  atomic<int> x{0};
  atomic<int> y{0};
  {
    jthread other([&] {
      x.store(1, Store);
      y.store(2, Store);
    });
    y.store(1, Store);
    x.store(2, Store);
  }
  return seen(x.load(relaxed), y.load(relaxed));
}

TEST(two_plus_two_writes, with_relaxed_order_both_first_stores_may_come_last) {
  expect_results({"11", "12", "21", "22"}, two_plus_two_writes<relaxed>);
}
TEST(two_plus_two_writes, release_they_still_may) {
  expect_results({"11", "12", "21", "22"}, two_plus_two_writes<release>);
}
TEST(two_plus_two_writes, seq_cst_they_are_not) {
  expect_results({"12", "21", "22"}, two_plus_two_writes<seq_cst>);
}

// S: a thread that has seen the other's second store overwrites its first one.
template <std::memory_order Store, std::memory_order Load>
result store_after_seeing() {
  atomic<int> x{0};
  atomic<int> y{0};
  int a = 0;
  {
    jthread other([&] {
      x.store(2, relaxed);
      y.store(1, Store);
    });
    a = y.load(Load);
    x.store(1, relaxed);
  }
  return seen(a, x.load(relaxed));
}

TEST(store_after_seeing, relaxed_it_may_be_ordered_before) {
  expect_results({"01", "02", "11", "12"}, store_after_seeing<relaxed, relaxed>);
}
TEST(store_after_seeing, with_release_and_acquire_comes_after_the_store_that_was_seen) {
  expect_results({"01", "02", "11"}, store_after_seeing<release, acquire>);
}

// R: the thread whose store to y is the last has stored to x before, and the other thread loads x.
template <std::memory_order Order, std::memory_order Load>
result store_order_and_load() {
  atomic<int> x{0};
  atomic<int> y{0};
  int a = 0;
  {
    jthread other([&] {
      x.store(1, Order);
      y.store(1, Order);
    });
    y.store(2, Order);
    a = x.load(Load);
  }
  return seen(y.load(relaxed), a);
}

TEST(store_order_and_load, release_the_later_store_may_miss_the_earlier_threads) {
  expect_results({"10", "11", "20", "21"}, store_order_and_load<release, acquire>);
}
TEST(store_order_and_load, seq_cst_it_does_not) {
  expect_results({"10", "11", "21"}, store_order_and_load<seq_cst, seq_cst>);
}

// S need not be the order in which stores become visible: a relaxed store may be seen before the
// seq_cst store that precedes it.
TEST(seq_cst, a_later_relaxed_store_may_be_seen_before_a_seq_cst_store) {
  expect_results({"00", "01", "10", "11"}, [] {
    atomic<int> x{0};
    atomic<int> y{0};
    int a = 0;
    int b = 0;
    {
      jthread other([&] {
        y.store(1, seq_cst);
        x.store(1, relaxed);
      });
      a = x.load(relaxed);
      b = y.load(seq_cst);
    }
    return seen(a, b);
  });
}

// Outside of the checker's guarantees: C++ permits it, and no execution here shows it (README.md).
TEST(load_buffering, is_not_shown) {
  expect_results({"00", "01", "10"}, [] {
    atomic<int> x{0};
    atomic<int> y{0};
    int a = 0;
    int b = 0;
    {
      jthread other([&] {
        a = x.load(relaxed);
        y.store(1, relaxed);
      });
      b = y.load(relaxed);
      x.store(1, relaxed);
    }
    return seen(a, b);
  });
}

}  // namespace
}  // namespace troupe::model
