// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <cstdint>

// Bugs planted for the checker to find: locks. A structure is written once, and its parameter
// selects the line that is broken. The unbroken structure must hold, so that a finding means
// something.

namespace troupe {
namespace {

namespace spinlock {

enum class fault { none, locked_relaxed, unlocked_relaxed, looks_then_takes };

template <fault planted>
class spinlock {
 public:
  void lock() {
    while (!take()) cpu_relax();
  }
  void unlock() { taken_.store(false, unlocking); }

 private:
  // [taken] release and acquire: the next holder sees the work of this one.
  static constexpr auto locking = planted == fault::locked_relaxed ? relaxed : acquire;
  static constexpr auto unlocking = planted == fault::unlocked_relaxed ? relaxed : release;

  bool take() {
    if constexpr (planted == fault::looks_then_takes) {
      if (taken_.load(locking)) return false;
      taken_.store(true, relaxed);
      return true;
    }
    // Relaxed on failure: nothing was acquired.
    bool expected = false;
    return taken_.compare_exchange_strong(expected, true, locking, relaxed);
  }

  atomic<bool> taken_{false};
};

template <fault planted>
void two_take_turns() {
  spinlock<planted> lock;
  model::plain<int> value{0};
  const auto add_one = [&] {
    lock.lock();
    value = value + 1;
    lock.unlock();
  };
  {
    jthread left("left", add_one);
    jthread right("right", add_one);
  }
  model::require(value == 2, "both additions count");
}

TEST(planted_spinlock, lets_one_in_at_a_time) { model::expect_holds(two_take_turns<fault::none>); }

TEST(planted_spinlock, locked_with_relaxed_order_does_not_show_the_last_holders_writes) {
  model::expect_fails("data race: right reads", {}, two_take_turns<fault::locked_relaxed>);
}

TEST(planted_spinlock, unlocked_with_relaxed_order_does_not_show_this_holder) {
  model::expect_fails("data race: right reads", {}, two_take_turns<fault::unlocked_relaxed>);
}

TEST(planted_spinlock, that_looks_and_then_takes_lets_two_in) {
  model::expect_fails("data race: right reads", {}, two_take_turns<fault::looks_then_takes>);
}

}  // namespace spinlock

namespace peterson_lock {

enum class fault { none, acquire_and_release_only, turn_before_wish };

// G. L. Peterson, «Myths About the Mutual Exclusion Problem», 1981.
template <fault planted>
class peterson_lock {
 public:
  void lock(int self) {
    const int other = 1 - self;
    if constexpr (planted == fault::turn_before_wish) {
      turn_.store(other, storing);
      wants_[self].store(true, storing);
    } else {
      wants_[self].store(true, storing);
      turn_.store(other, storing);
    }
    while (wants_[other].load(loading) && turn_.load(loading) == other) cpu_relax();
  }
  // [inside] release: the other thread's acquire, part of its seq_cst, sees the work done inside.
  void unlock(int self) { wants_[self].store(false, release); }

 private:
  // [wish] seq_cst: of two threads that want to enter, one sees the other's wish. With a weaker
  // order, both may read the old value.
  static constexpr auto storing = planted == fault::acquire_and_release_only ? release : seq_cst;
  static constexpr auto loading = planted == fault::acquire_and_release_only ? acquire : seq_cst;

  atomic<bool> wants_[2];
  atomic<int> turn_{0};
};

template <fault planted>
void two_take_turns() {
  peterson_lock<planted> lock;
  model::plain<int> value{0};
  const auto add_one = [&](int self) {
    lock.lock(self);
    value = value + 1;
    lock.unlock(self);
  };
  {
    jthread left("left", [&] { add_one(0); });
    jthread right("right", [&] { add_one(1); });
  }
  model::require(value == 2, "both additions count");
}

TEST(planted_peterson_lock, lets_one_in_at_a_time) {
  model::expect_holds(two_take_turns<fault::none>);
}

TEST(planted_peterson_lock, with_acquire_and_release_alone_lets_two_in) {
  model::expect_fails("data race: right reads", {},
                      two_take_turns<fault::acquire_and_release_only>);
}

TEST(planted_peterson_lock, that_yields_the_turn_before_it_raises_its_flag_admits_two) {
  model::expect_fails("data race: right reads", {}, two_take_turns<fault::turn_before_wish>);
}

}  // namespace peterson_lock

namespace futex_lock {

enum class fault { none, forgets_that_others_wait, unlocks_without_a_wake };

// U. Drepper, «Futexes Are Tricky», 2004: the second mutex.
template <fault planted>
class futex_lock {
 public:
  void lock() {
    std::uint32_t expected = free;
    // [state] acquire: the work of the last holder.
    if (state_.compare_exchange_strong(expected, taken, acquire, relaxed)) return;
    while (state_.exchange(waited_for, acquire) != free) {
      futex_wait(state_, waited_for);
      if constexpr (planted == fault::forgets_that_others_wait) {
        expected = free;
        if (state_.compare_exchange_strong(expected, taken, acquire, relaxed)) return;
      }
    }
  }

  void unlock() {
    // [state] release: the work of this holder.
    const std::uint32_t before = state_.exchange(free, release);
    if (before == waited_for && planted != fault::unlocks_without_a_wake) futex_wake(state_, 1);
  }

 private:
  enum state : std::uint32_t { free, taken, waited_for };

  atomic<std::uint32_t> state_{free};
};

template <fault planted>
void three_take_turns() {
  futex_lock<planted> lock;
  model::plain<int> value{0};
  const auto add_one = [&] {
    lock.lock();
    value = value + 1;
    lock.unlock();
  };
  {
    jthread one("one", add_one);
    jthread other("other", add_one);
    add_one();
  }
  model::require(value == 3, "all additions count");
}

TEST(planted_futex_lock, lets_one_in_at_a_time) {
  model::expect_holds(three_take_turns<fault::none>);
}

TEST(planted_futex_lock, unlocked_without_a_wake_leaves_one_asleep) {
  model::expect_fails("deadlock: all threads sleep", {},
                      three_take_turns<fault::unlocks_without_a_wake>);
}

TEST(planted_futex_lock, that_forgets_that_others_wait_leaves_one_asleep) {
  model::expect_fails("deadlock: all threads sleep", {},
                      three_take_turns<fault::forgets_that_others_wait>);
}

TEST(planted_futex_lock, that_forgets_that_others_wait_is_found_at_random_as_well) {
  model::expect_fails("deadlock: all threads sleep", {.random = 10'000},
                      three_take_turns<fault::forgets_that_others_wait>);
}

}  // namespace futex_lock

namespace two_accounts {

enum class fault { none, locks_in_the_order_of_the_transfer };

struct account {
  mutex lock;
  model::plain<int> balance{10};
};

template <fault planted>
class bank {
 public:
  void transfer(int from, int to) {
    const bool turns = planted == fault::none && to < from;
    mutex& first = accounts_[turns ? to : from].lock;
    mutex& second = accounts_[turns ? from : to].lock;
    first.lock();
    second.lock();
    accounts_[from].balance = accounts_[from].balance - 1;
    accounts_[to].balance = accounts_[to].balance + 1;
    second.unlock();
    first.unlock();
  }

 private:
  account accounts_[2];
};

template <fault planted>
void two_transfer() {
  bank<planted> one;
  jthread there("there", [&] { one.transfer(0, 1); });
  jthread back("back", [&] { one.transfer(1, 0); });
}

TEST(planted_two_accounts, transfers_in_both_directions_end) {
  model::expect_holds(two_transfer<fault::none>);
}

TEST(planted_two_accounts, locked_in_opposite_orders_wait_for_each_other) {
  model::expect_fails("deadlock: all threads sleep", {},
                      two_transfer<fault::locks_in_the_order_of_the_transfer>);
}

}  // namespace two_accounts

namespace corridor {

enum class fault { none, both_step_aside };

// Two threads meet, and step aside until they can pass.
template <fault planted>
class corridor {
 public:
  void pass(int self) {
    // [side] relaxed: publishes nothing.
    while (sides_[self].load(relaxed) == sides_[1 - self].load(relaxed)) {
      if (self == 0 || planted == fault::both_step_aside) {
        sides_[self].store(!sides_[self].load(relaxed), relaxed);
      }
      cpu_relax();
    }
  }

 private:
  atomic<bool> sides_[2];
};

template <fault planted>
void two_meet() {
  corridor<planted> narrow;
  jthread left("left", [&] { narrow.pass(0); });
  jthread right("right", [&] { narrow.pass(1); });
}

TEST(planted_corridor, is_passed_when_one_steps_aside) {
  model::expect_holds(two_meet<fault::none>);
}

TEST(planted_corridor, where_both_step_aside_is_never_passed) {
  // All executions are short here, so a hundred steps are a livelock.
  model::expect_fails("livelock: more than 100 steps", {.steps_max = 100},
                      two_meet<fault::both_step_aside>);
}

}  // namespace corridor

}  // namespace
}  // namespace troupe
