// SPDX-License-Identifier: Apache-2.0
// Coherence, release sequences and read-modify-write operations.
#include "litmus.hpp"

namespace troupe::model {
namespace {

TEST(coherence, two_loads_do_not_go_back) {
  expect_results({"00", "01", "02", "11", "12", "22"}, [] {
    atomic<int> x{0};
    int a = 0;
    int b = 0;
    {
      jthread other([&] {
        x.store(1, relaxed);
        x.store(2, relaxed);
      });
      a = x.load(relaxed);
      b = x.load(relaxed);
    }
    return seen(a, b);
  });
}

TEST(coherence, two_readers_agree_on_the_order_of_two_stores) {
  const auto all = results([] {
    atomic<int> x{0};
    int a = 0;
    int b = 0;
    int c = 0;
    int d = 0;
    {
      jthread one([&] { x.store(1, relaxed); });
      jthread two([&] { x.store(2, relaxed); });
      jthread three([&] {
        a = x.load(relaxed);
        b = x.load(relaxed);
      });
      c = x.load(relaxed);
      d = x.load(relaxed);
    }
    return seen(a, b, c, d);
  });
  EXPECT_TRUE(all.contains("1212"));
  EXPECT_TRUE(all.contains("2121"));
  EXPECT_TRUE(all.contains("0012"));
  EXPECT_FALSE(all.contains("1221"));
  EXPECT_FALSE(all.contains("2112"));
  for (const result& each : all) {
    EXPECT_FALSE(each[0] != '0' && each[1] == '0') << each;
  }
}

TEST(coherence, a_thread_sees_its_own_store_or_a_later_one) {
  expect_results({"1", "2"}, [] {
    atomic<int> x{0};
    int a = 0;
    {
      jthread other([&] { x.store(2, relaxed); });
      x.store(1, relaxed);
      a = x.load(relaxed);
    }
    return seen(a);
  });
}

TEST(coherence, a_store_after_a_load_comes_after_the_store_that_was_read) {
  expect_results({"01", "02", "21"}, [] {
    atomic<int> x{0};
    int a = 0;
    {
      jthread other([&] { x.store(2, relaxed); });
      a = x.load(relaxed);
      x.store(1, relaxed);
    }
    return seen(a, x.load(relaxed));
  });
}

TEST(coherence, a_store_that_happens_before_a_load_is_not_missed) {
  expect_results({"0", "1"}, [] {
    atomic<int> x{0};
    atomic<bool> flag{false};
    int a = 1;
    {
      jthread other([&] {
        x.store(1, relaxed);
        flag.store(true, release);
      });
      if (flag.load(acquire)) {
        a = x.load(relaxed);
        require(a == 1, "it is seen");
      } else {
        a = x.load(relaxed);
      }
    }
    return seen(a);
  });
}

TEST(join, shows_all_that_the_thread_did) {
  expect_results({"1"}, [] {
    atomic<int> x{0};
    {
      jthread other([&] { x.store(1, relaxed); });
    }
    return seen(x.load(relaxed));
  });
}

// ── Release sequences ─────────────────────────────────────────────────────────────────────────

template <std::memory_order Change>
result release_then_change() {
  atomic<int> value{0};
  atomic<int> flag{0};
  int a = 0;
  int b = 0;
  {
    jthread writer([&] {
      value.store(1, relaxed);
      flag.store(1, release);
    });
    jthread changer([&] {
      int one = 1;
      flag.compare_exchange_strong(one, 2, Change, relaxed);
    });
    a = flag.load(acquire);
    b = value.load(relaxed);
  }
  return seen(a, b);
}

TEST(release_sequence, continues_through_a_relaxed_modification) {
  expect_results({"00", "01", "11", "21"}, release_then_change<relaxed>);
}
TEST(release_sequence, continues_through_a_chain_of_modifications) {
  const auto all = results([] {
    atomic<int> value{0};
    atomic<int> flag{0};
    int a = 0;
    int b = 0;
    {
      jthread writer([&] {
        value.store(1, relaxed);
        flag.store(10, release);
      });
      jthread changer([&] {
        flag.fetch_add(1, relaxed);
        flag.fetch_add(1, relaxed);
      });
      a = flag.load(acquire) >= 10;
      b = value.load(relaxed);
    }
    return seen(a, b);
  });
  EXPECT_EQ(all, (std::set<result>{"00", "01", "11"}));
}
TEST(release_sequence, ends_at_a_relaxed_store_of_the_same_thread) {
  expect_results({"00", "01", "11", "20", "21"}, [] {
    atomic<int> value{0};
    atomic<int> flag{0};
    int a = 0;
    int b = 0;
    {
      jthread writer([&] {
        value.store(1, relaxed);
        flag.store(1, release);
        flag.store(2, relaxed);
      });
      a = flag.load(acquire);
      b = value.load(relaxed);
    }
    return seen(a, b);
  });
}

// ── Read-modify-write ─────────────────────────────────────────────────────────────────────────

TEST(read_modify_write, two_do_not_read_the_same) {
  expect_results({"01", "10"}, [] {
    atomic<int> x{0};
    int a = 0;
    int b = 0;
    {
      jthread other([&] { a = x.fetch_add(1, relaxed); });
      b = x.fetch_add(1, relaxed);
    }
    return seen(a, b);
  });
}

TEST(read_modify_write, no_store_comes_between_its_load_and_its_store) {
  expect_results({"05", "56"}, [] {
    atomic<int> x{0};
    int a = 0;
    {
      jthread other([&] { x.store(5, relaxed); });
      a = x.fetch_add(1, relaxed);
    }
    return seen(a, x.load(relaxed));
  });
}

TEST(read_modify_write, of_two_compare_exchanges_one_succeeds) {
  expect_results({"01", "10"}, [] {
    atomic<int> x{0};
    bool a = false;
    bool b = false;
    {
      jthread other([&] {
        int none = 0;
        a = x.compare_exchange_strong(none, 1, relaxed, relaxed);
      });
      int none = 0;
      b = x.compare_exchange_strong(none, 2, relaxed, relaxed);
    }
    return seen(static_cast<int>(a), static_cast<int>(b));
  });
}

TEST(read_modify_write, a_chain_passes_on_the_writes_that_each_link_acquired) {
  expect_results({"0", "1"}, [] {
    atomic<int> value{0};
    atomic<int> baton{0};
    int a = 1;
    {
      jthread one([&] {
        value.store(1, relaxed);
        baton.fetch_add(1, release);
      });
      jthread two([&] { baton.fetch_add(1, acq_rel); });
      if (baton.load(acquire) == 2) {
        a = value.load(relaxed);
        require(a == 1, "whichever came last");
      } else {
        a = value.load(relaxed);
      }
    }
    return seen(a);
  });
}

TEST(read_modify_write, a_weak_compare_exchange_may_fail_for_no_reason) {
  std::set<result> all;
  const outcome found = explore({.spurious = 1}, [&] {
    atomic<int> x{0};
    int none = 0;
    const bool done = x.compare_exchange_weak(none, 1, relaxed, relaxed);
    require(none == 0, "what was expected is there all the same");
    const detail::untracked own;
    all.insert(seen(static_cast<int>(done)));
  });
  EXPECT_FALSE(found.failed);
  EXPECT_EQ(all, (std::set<result>{"0", "1"}));
}

}  // namespace
}  // namespace troupe::model
