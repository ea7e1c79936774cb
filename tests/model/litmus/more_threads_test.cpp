// SPDX-License-Identifier: Apache-2.0
// Three and four threads.
#include "litmus.hpp"

namespace troupe::model {
namespace {

// Independent reads of independent writes: do two readers agree on which of two stores came first?
template <std::memory_order Store, std::memory_order Load>
result independent_reads() {
  atomic<int> x{0};
  atomic<int> y{0};
  int a = 0;
  int b = 0;
  int c = 0;
  int d = 0;
  {
    jthread one([&] { x.store(1, Store); });
    jthread two([&] { y.store(1, Store); });
    jthread three([&] {
      a = x.load(Load);
      b = y.load(Load);
    });
    c = y.load(Load);
    d = x.load(Load);
  }
  return seen(a, b, c, d);
}

TEST(independent_reads, acquire_the_readers_may_disagree) {
  const auto all = results(independent_reads<release, acquire>);
  EXPECT_TRUE(all.contains("1010"));
  EXPECT_EQ(all.size(), 16u);
}
TEST(independent_reads, seq_cst_they_agree) {
  const auto all = results(independent_reads<seq_cst, seq_cst>);
  EXPECT_FALSE(all.contains("1010"));
  EXPECT_EQ(all.size(), 15u);
}
// C++20: in S, a seq_cst load that reads a store comes after a seq_cst load that does not see it
// yet, whatever the order of the store.
TEST(independent_reads, seq_cst_loads_of_relaxed_stores_agree) {
  const auto all = results(independent_reads<relaxed, seq_cst>);
  EXPECT_FALSE(all.contains("1010"));
  EXPECT_EQ(all.size(), 15u);
}
TEST(independent_reads, seq_cst_stores_do_not_help_acquire_loads) {
  EXPECT_TRUE(results(independent_reads<seq_cst, acquire>).contains("1010"));
}

// Write-to-read causality: if the third thread sees the second thread's store, it sees everything
// that the second thread saw.
template <std::memory_order Store, std::memory_order Load>
result causality() {
  atomic<int> x{0};
  atomic<int> y{0};
  int a = 0;
  int b = 0;
  int c = 0;
  {
    jthread one([&] { x.store(1, relaxed); });
    jthread two([&] {
      a = x.load(Load);
      y.store(1, Store);
    });
    b = y.load(Load);
    c = x.load(relaxed);
  }
  return seen(a, b, c);
}

TEST(causality, relaxed_it_is_lost) {
  EXPECT_TRUE(results(causality<relaxed, relaxed>).contains("110"));
}
TEST(causality, release_and_acquire_keep_it) {
  const auto all = results(causality<release, acquire>);
  EXPECT_FALSE(all.contains("110"));
  EXPECT_EQ(all.size(), 7u);
}

// ISA2: a chain of two releases and acquires.
template <std::memory_order Store, std::memory_order Load>
result two_hand_overs() {
  atomic<int> value{0};
  atomic<int> first{0};
  atomic<int> second{0};
  int a = 0;
  int b = 0;
  int c = 0;
  {
    jthread one([&] {
      value.store(1, relaxed);
      first.store(1, Store);
    });
    jthread two([&] {
      a = first.load(Load);
      second.store(1, Store);
    });
    b = second.load(Load);
    c = value.load(relaxed);
  }
  return seen(a, b, c);
}

TEST(two_hand_overs, relaxed_the_value_may_be_missed) {
  EXPECT_TRUE(results(two_hand_overs<relaxed, relaxed>).contains("110"));
}
TEST(two_hand_overs, release_and_acquire_hand_it_on) {
  EXPECT_FALSE(results(two_hand_overs<release, acquire>).contains("110"));
}

// RWC: a reader that has seen x but not y, and a writer of y that has not seen x.
template <std::memory_order Order, std::memory_order Load>
result read_to_write_causality() {
  atomic<int> x{0};
  atomic<int> y{0};
  int a = 0;
  int b = 0;
  int c = 0;
  {
    jthread one([&] { x.store(1, Order); });
    jthread two([&] {
      a = x.load(Load);
      b = y.load(Load);
    });
    y.store(1, Order);
    c = x.load(Load);
  }
  return seen(a, b, c);
}

TEST(read_to_write_causality, acquire_it_is_lost) {
  EXPECT_TRUE(results(read_to_write_causality<release, acquire>).contains("100"));
}
TEST(read_to_write_causality, seq_cst_keeps_it) {
  EXPECT_FALSE(results(read_to_write_causality<seq_cst, seq_cst>).contains("100"));
}

}  // namespace
}  // namespace troupe::model
