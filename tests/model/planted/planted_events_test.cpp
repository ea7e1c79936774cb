// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <cstdint>

// Bugs planted for the checker to find: events. A structure is written once, and its parameter
// selects the line that is broken. The unbroken structure must hold, so that a finding means
// something.

namespace troupe {
namespace {

constexpr std::uint32_t all_of_them = 0x7fff'ffff;

namespace gate {

enum class fault { none, wakes_one_only };

// Many threads wait until it opens.
template <fault planted>
class gate {
 public:
  void wait() {
    while (open_.load(acquire) == 0) futex_wait(open_, 0);  // [open] the work before it opened
  }
  void open() {
    open_.store(1, release);  // [open]
    futex_wake(open_, planted == fault::wakes_one_only ? 1 : all_of_them);
  }

 private:
  atomic<std::uint32_t> open_{0};
};

template <fault planted>
void two_wait() {
  gate<planted> only;
  model::plain<int> work{0};
  const auto wait = [&] {
    only.wait();
    model::require(work == 1, "what came before the gate opened is seen");
  };
  jthread one("one", wait);
  jthread other("other", wait);
  work = 1;
  only.open();
}

TEST(planted_gate, lets_all_through) { model::expect_holds(two_wait<fault::none>); }

TEST(planted_gate, that_wakes_only_one_waiter_leaves_the_other_asleep) {
  model::expect_fails("deadlock: all threads sleep", {}, two_wait<fault::wakes_one_only>);
}

}  // namespace gate

namespace condition {

enum class fault { none, looks_without_the_lock, looks_only_once };

class condition {
 public:
  void wait(mutex& held) {
    // [changes] relaxed: the lock orders it.
    const std::uint32_t since = changes_.load(relaxed);
    held.unlock();
    futex_wait(changes_, since);
    held.lock();
  }
  void notify_one() {
    // [changes] relaxed: the lock orders it.
    changes_.fetch_add(1, relaxed);
    futex_wake(changes_, 1);
  }

 private:
  atomic<std::uint32_t> changes_{0};
};

template <fault planted>
class basket {
 public:
  void put() {
    lock_.lock();
    count_.store(count() + 1, relaxed);  // [count]
    not_empty_.notify_one();
    lock_.unlock();
  }

  int take() {
    const bool looked_empty = planted == fault::looks_without_the_lock && count() == 0;
    lock_.lock();
    bool waits = planted == fault::looks_without_the_lock ? looked_empty : count() == 0;
    while (waits) {
      not_empty_.wait(lock_);
      waits = planted != fault::looks_only_once && count() == 0;
    }
    const int there = count();
    count_.store(there - 1, relaxed);  // [count]
    lock_.unlock();
    return there;
  }

 private:
  // [count] relaxed: the lock orders it.
  [[nodiscard]] int count() const { return count_.load(relaxed); }

  mutex lock_;
  condition not_empty_;
  atomic<int> count_{0};
};

template <fault planted>
void one_puts_and_one_takes() {
  basket<planted> between;
  jthread taker("taker",
                [&] { model::require(between.take() == 1, "something is there to be taken"); });
  jthread giver("giver", [&] { between.put(); });
}

TEST(planted_condition, is_waited_for_until_it_holds) {
  model::expect_holds(one_puts_and_one_takes<fault::none>);
}

TEST(planted_condition, looked_at_without_the_lock_is_waited_for_in_vain) {
  model::expect_fails("deadlock: all threads sleep", {},
                      one_puts_and_one_takes<fault::looks_without_the_lock>);
}

TEST(planted_condition, looked_at_only_once_is_taken_for_granted) {
  model::expect_fails("broken promise: something is there to be taken", {},
                      one_puts_and_one_takes<fault::looks_only_once>);
}

}  // namespace condition

namespace one_shot_event {

enum class fault { none, reads_itself_after_it_is_set };

// The waiter may destroy it as soon as wait() has returned.
template <fault planted>
class one_shot_event {
 public:
  int wait() {
    std::uint32_t before = unset;
    // [result] relaxed if nothing is set yet. Acquire on failure: the result.
    if (state_.compare_exchange_strong(before, waited_for, relaxed, acquire)) before = waited_for;
    // [result] acquire
    for (; before != set; before = state_.load(acquire)) futex_wait(state_, waited_for);
    return result_;
  }

  /// Returns the result.
  int notify(int result) {
    result_ = result;
    // [result] release
    const std::uint32_t before = state_.exchange(set, release);
    // From here on the event may be destroyed, so only its address is used.
    if (before == waited_for) futex_wake(state_, 1);
    return planted == fault::reads_itself_after_it_is_set ? result_.get() : result;
  }

 private:
  enum state : std::uint32_t { unset, waited_for, set };

  atomic<std::uint32_t> state_{unset};
  model::plain<int> result_{0};
};

template <fault planted>
void one_waits_and_destroys() {
  auto* const event = new one_shot_event<planted>;
  jthread notifier("notifier", [=] {
    model::require(event->notify(42) == 42, "the result is that of the notifier");
  });
  model::require(event->wait() == 42, "the result comes with the event");
  delete event;
}

TEST(planted_one_shot_event, may_be_destroyed_by_its_waiter) {
  model::expect_holds(one_waits_and_destroys<fault::none>);
}

TEST(planted_one_shot_event, that_is_read_after_it_is_set_is_read_after_its_end) {
  model::expect_fails("data race: main gives", {},
                      one_waits_and_destroys<fault::reads_itself_after_it_is_set>);
}

}  // namespace one_shot_event

}  // namespace
}  // namespace troupe
