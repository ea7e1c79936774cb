// SPDX-License-Identifier: Apache-2.0
// ref, weak_ref, self_ref and address as values. (What they keep alive: keeps_alive_test.cpp.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::SizeIs;

class plain : public actor {
 public:
  void on(int) {}
};

TEST(ref, is_compared_and_hashed_by_its_actor) {
  stage s;
  const auto a = s.spawn<plain>();
  const auto b = s.spawn<plain>();
  const auto again = a;
  EXPECT_EQ(a, again);
  EXPECT_NE(a, b);
  EXPECT_EQ(a.address(), again.address());
  EXPECT_NE(a.address(), b.address());
  const std::set<ref<plain>> sorted{a, b, again};
  EXPECT_THAT(sorted, SizeIs(2));
  const std::unordered_set<ref<plain>> hashed{a, b, again};
  EXPECT_THAT(hashed, SizeIs(2));
}

TEST(ref, may_be_empty) {
  stage s;
  ref<plain> a;
  EXPECT_FALSE(a);
  EXPECT_EQ(a, ref<plain>{});
  EXPECT_EQ(address(a), address{});
  a = s.spawn<plain>();
  EXPECT_TRUE(a);
  ref<plain> b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT: a moved ref is an empty one
  EXPECT_TRUE(b);
  auto& same = b;
  b = same;
  EXPECT_TRUE(b) << "assigned to itself";
}

TEST(ref_death_test, empty_ones_may_not_be_used) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(ref<plain>{}.send(1), "empty troupe::ref");
  EXPECT_DEATH(ref<plain>{}.stop(), "empty troupe::ref");
  EXPECT_DEATH(ref<plain>{}.join(), "empty troupe::ref");
}

TEST(ref, is_copied_and_dropped_by_many_threads) {
  constexpr int rounds = sanitized ? 5'000 : 50'000;
  system s{{.workers = 1}};
  auto a = s.spawn<plain>();
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([mine = a] {
      for (int i = 0; i < rounds; ++i) {
        auto copy = mine;
        const ref<plain> moved = std::move(copy);
        if (i % 16 == 0) moved.send(1);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(s.statistics().actors_alive, 1u);
  a = {};
  EXPECT_TRUE(eventually([&] { return s.statistics().actors_alive == 0; }));
}

TEST(weak_ref, is_compared_and_hashed_by_its_actor) {
  stage s;
  const auto a = s.spawn<plain>();
  const auto b = s.spawn<plain>();
  const weak_ref<plain> weak = a;
  EXPECT_EQ(weak, weak_ref<plain>(a));
  EXPECT_NE(weak, weak_ref<plain>(b));
  EXPECT_EQ(weak.address(), a.address());
  EXPECT_EQ(address(weak), a.address());
  const std::set<weak_ref<plain>> sorted{weak, b, a};
  EXPECT_THAT(sorted, SizeIs(2));
  const std::unordered_set<weak_ref<plain>> hashed{weak, b, a};
  EXPECT_THAT(hashed, SizeIs(2));
}

TEST(weak_ref, that_never_named_an_actor_locks_to_nothing) {
  const weak_ref<plain> weak;
  EXPECT_FALSE(weak.lock());
  EXPECT_EQ(weak.address(), address{});
}

TEST(weak_ref, lock_during_the_last_release_gives_a_working_ref_or_none) {
  class sink : public actor {
   public:
    explicit sink(int& handled) : handled_(handled) {}
    void on(int) { ++handled_; }

   private:
    int& handled_;
  };
  constexpr int rounds = sanitized ? 500 : 3'000;
  system s{{.workers = 2}};
  for (int i = 0; i < rounds; ++i) {
    int handled = 0;
    auto a = s.spawn<sink>(handled);
    const weak_ref<sink> weak = a;
    ref<sink> locked;
    bool sent = false;
    std::thread other([&] {
      locked = weak.lock();
      if (locked) sent = locked.send(1) == delivery::accepted;
    });
    a = {};
    other.join();
    if (locked) {
      EXPECT_TRUE(sent) << "a ref that was given keeps it alive";
      locked.stop();
      locked.join();
      EXPECT_EQ(handled, 1);
    } else {
      ASSERT_TRUE(eventually([&] { return s.statistics().actors_alive == 0; }));
    }
  }
}

TEST(self_ref, turns_into_every_other_handle) {
  class looks : public actor {
   public:
    void on(const ref<looks>& me) {
      EXPECT_EQ(self_address(), me.address());
      EXPECT_EQ(address(self(this)), me.address());
      EXPECT_EQ(self(this).address(), me.address());
      EXPECT_EQ(ref<looks>(self(this)), me);
      EXPECT_EQ(weak_ref<looks>(self(this)), weak_ref<looks>(me));
      EXPECT_EQ(recipient<int>(self(this)).address(), me.address());
    }
    void on(int) {}
  };
  stage s;
  const auto a = s.spawn<looks>();
  a.send(ref{a});
  s.play();
}

TEST(address, of_an_actor_is_true_and_a_default_address_is_false) {
  stage s;
  const auto a = s.spawn<plain>();
  EXPECT_TRUE(a.address());
  EXPECT_FALSE(address{});
  EXPECT_NE(a.address(), address{});
}

TEST(address, stays_unequal_when_its_slot_is_used_again) {
  constexpr int actors = 5'000;
  stage s;
  std::set<address> ordered;
  std::unordered_map<address, int> hashed;
  std::set<std::string> printed;
  for (int i = 0; i < actors; ++i) {
    const auto a = s.spawn<plain>();
    ordered.insert(a);
    hashed[a] = i;
    printed.insert(to_string(a.address()));
    a.stop();
    s.play();
  }
  EXPECT_THAT(ordered, SizeIs(actors));
  EXPECT_THAT(hashed, SizeIs(actors));
  EXPECT_THAT(printed, SizeIs(actors));
}

TEST(address, outlives_its_system) {
  address where;
  weak_ref<plain> weak;
  {
    system s{{.workers = 1}};
    const auto a = s.spawn<plain>();
    where = a;
    weak = a;
  }
  EXPECT_TRUE(where);
  EXPECT_FALSE(weak.lock());
  EXPECT_EQ(weak.address(), where);
}

static_assert(std::is_nothrow_move_constructible_v<ref<plain>>);
static_assert(std::is_nothrow_copy_constructible_v<ref<plain>>);
static_assert(std::is_trivially_copyable_v<address>);
static_assert(std::is_trivially_copyable_v<weak_ref<plain>>);
static_assert(sizeof(ref<plain>) == 8 && sizeof(address) == 16 && sizeof(weak_ref<plain>) == 16);
static_assert(!std::is_convertible_v<address, ref<plain>>);

}  // namespace
}  // namespace troupe::test
