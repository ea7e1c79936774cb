// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <string>
#include <string_view>
#include <vector>

// Bugs planted for the checker to find: an answer that never comes. Each body holds in every
// execution, and what it declares to be seen shows that it tests nothing there.

namespace troupe {
namespace {

namespace lock {

enum class fault { none, is_never_free, is_always_late };

// A lock that can be tried.
template <fault planted>
class spin_lock {
 public:
  bool try_lock() {
    if constexpr (planted == fault::is_never_free) return false;
    return !taken_.exchange(true, acquire);
  }
  // Tries twice.
  bool try_lock_for_a_while() {
    if constexpr (planted == fault::is_always_late) return false;
    return try_lock() || try_lock();
  }
  void unlock() { taken_.store(false, release); }

 private:
  atomic<bool> taken_{false};
};

template <fault planted>
void two_try() {
  spin_lock<planted> guard;
  model::plain<int> value{0};
  const auto add_if_free = [&] {
    if (!model::varies(guard.try_lock(), "the lock is free")) return;
    value = value + 1;
    guard.unlock();
  };
  jthread left("left", add_if_free);
  jthread right("right", add_if_free);
}

TEST(planted_outcome, of_a_lock_that_is_tried_may_be_either) {
  model::expect_holds(two_try<fault::none>);
}

TEST(planted_outcome, that_a_lock_is_free_never_comes) {
  model::expect_misses("\"the lock is free\": true (planted_outcomes_test.cpp:", {},
                       two_try<fault::is_never_free>);
}

TEST(planted_outcome, that_a_lock_is_taken_never_comes_to_one_thread) {
  model::expect_misses("\"the lock is free\": false", {}, [] {
    spin_lock<fault::none> guard;
    (void)model::varies(guard.try_lock(), "the lock is free");
  });
}

// The branch in which the other answer is given is itself reached by some executions only.
template <fault planted>
void one_tries_longer() {
  spin_lock<planted> guard;
  jthread other("other", [&] {
    if (guard.try_lock()) guard.unlock();
  });
  if (model::varies(guard.try_lock(), "at once")) {
    model::seen("at once");
  } else if (model::varies(guard.try_lock_for_a_while(), "after a while")) {
    model::seen("after a while");
  }
}

TEST(planted_outcome, within_a_branch_may_be_either) {
  model::expect_holds({.sees = {"at once", "after a while"}}, one_tries_longer<fault::none>);
}

TEST(planted_outcome, within_a_branch_never_comes) {
  model::expect_misses("\"after a while\": true", {}, one_tries_longer<fault::is_always_late>);
}

TEST(planted_outcome, that_is_declared_never_comes) {
  model::expect_misses("\"the third\"", {.sees = {"at once", "the third"}},
                       one_tries_longer<fault::none>);
}

TEST(planted_outcome, never_comes_at_random_either) {
  model::expect_misses("\"the lock is free\": true", {.random = 200},
                       two_try<fault::is_never_free>);
}

}  // namespace lock

// ── States that are reached twice ─────────────────────────────────────────────────────────────

namespace reductions {

std::string text(int x, int y) { return std::to_string(x) + " " + std::to_string(y); }

// Both threads store and then load what the other one stores. The checker does not follow an
// execution that comes to a known state; each of the results shows all the same.
void store_and_load(std::memory_order order) {
  atomic<int> x{0};
  atomic<int> y{0};
  int read_by_one = 0;
  int read_by_other = 0;
  {
    jthread one([&] {
      x.store(1, order);
      read_by_one = y.load(order);
    });
    jthread other([&] {
      y.store(1, order);
      read_by_other = x.load(order);
    });
  }
  model::seen(text(read_by_one, read_by_other));
}

const std::vector<std::string_view> all_results{"0 0", "0 1", "1 0", "1 1"};

TEST(planted_outcome, each_result_of_two_that_store_and_load_is_seen) {
  model::expect_holds({.sees = all_results}, [] { store_and_load(relaxed); });
}

TEST(planted_outcome, the_one_that_an_order_forbids_is_the_only_one_that_is_not_seen) {
  model::expect_misses("\"0 0\"", {.sees = all_results}, [] { store_and_load(seq_cst); });
}

// A label before the place where two executions meet is seen in both, and so is a label after it,
// where the checker follows only one of the two.
TEST(planted_outcome, before_and_after_a_known_state_is_seen) {
  model::expect_holds({.sees = {"first 0", "first 1", "last 0", "last 1", "last 2"}}, [] {
    atomic<int> before{0};
    atomic<int> after{0};
    jthread one([&] {
      before.store(1, relaxed);
      after.fetch_add(1, relaxed);
    });
    jthread other([&] { after.fetch_add(1, relaxed); });
    model::seen("first " + std::to_string(before.load(relaxed)));
    model::seen("last " + std::to_string(after.load(relaxed)));
  });
}

}  // namespace reductions

// ── What a test says ──────────────────────────────────────────────────────────────────────────

namespace verdicts {

void never_free() { lock::two_try<lock::fault::is_never_free>(); }

TEST(planted_outcome, that_never_comes_fails_a_check_that_holds) {
  EXPECT_NONFATAL_FAILURE(model::expect_holds(never_free), "\"the lock is free\": true");
}

// One failure: that it was cut off.
TEST(planted_outcome, that_may_come_behind_the_end_of_a_search_fails_nothing) {
  EXPECT_NONFATAL_FAILURE(model::expect_holds({.executions_max = 1}, never_free), "cut off after");
  const model::outcome found = model::explore({.executions_max = 1}, never_free);
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(found.never_seen.size(), 1u) << "it is said";
}

TEST(planted_outcome, of_a_check_that_fails_is_not_asked_for) {
  const model::outcome found = model::explore({.sees = {"never"}}, [] {
    model::require(false, "nothing holds");
    model::seen("never");
  });
  EXPECT_TRUE(found.failed);
  EXPECT_TRUE(found.never_seen.empty());
}

TEST(planted_outcome, is_counted_once_for_each_execution) {
  const model::outcome found = model::explore({.sees = {"twice", "never"}}, [] {
    model::seen("twice");
    model::seen("twice");
  });
  EXPECT_EQ(found.sightings, "  1 of 1: \"twice\"\n  0 of 1: \"never\"\n");
}

}  // namespace verdicts

}  // namespace
}  // namespace troupe
