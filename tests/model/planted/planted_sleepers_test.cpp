// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <cstdint>

// Bugs planted for the checker to find: threads that sleep, and threads that wake them. A structure
// is written once, and its parameter selects the line that is broken. The unbroken structure must
// hold, so that a finding means something.

namespace troupe {
namespace {

constexpr std::uint32_t all_of_them = 0x7fff'ffff;

namespace parker {

enum class fault {
  none,
  park_looks_then_stores,
  notify_looks_then_stores,
  notified_relaxed,
  parked_relaxed,
  any_wake_will_do
};

// One thread parks, another one notifies.
template <fault planted>
class parker {
 public:
  void park() {
    if constexpr (planted == fault::park_looks_then_stores) {
      if (take_token()) return;
      state_.store(asleep, relaxed);
    } else {
      // token → awake, awake → asleep
      if (state_.fetch_sub(1, taking) == token) return;
    }
    do {
      futex_wait(state_, asleep);
    } while (!take_token() && planted != fault::any_wake_will_do);
  }

  void notify() {
    std::uint32_t before = 0;
    if constexpr (planted == fault::notify_looks_then_stores) {
      before = state_.load(relaxed);
      state_.store(token, giving);
    } else {
      before = state_.exchange(token, giving);
    }
    if (before == asleep) futex_wake(state_, 1);
  }

 private:
  enum state : std::uint32_t { awake = 0, token = 1, asleep = 0xffff'ffff };

  // [wake] release and acquire: the notified thread sees the work before the notification.
  static constexpr auto giving = planted == fault::notified_relaxed ? relaxed : release;
  static constexpr auto taking = planted == fault::parked_relaxed ? relaxed : acquire;

  bool take_token() {
    std::uint32_t expected = token;
    return state_.compare_exchange_strong(expected, awake, taking, relaxed);
  }

  atomic<std::uint32_t> state_{awake};
};

template <fault planted>
void one_parks_till_notified() {
  parker<planted> bench;
  model::plain<int> work{0};
  jthread owner("owner", [&] {
    bench.park();
    model::require(work == 1, "what came before the notification is seen");
  });
  jthread notifier("notifier", [&] {
    work = 1;
    bench.notify();
  });
}

TEST(planted_parker, sleeps_until_notified) {
  model::expect_holds(one_parks_till_notified<fault::none>);
}

TEST(planted_parker, whose_park_looks_and_then_stores_loses_a_notification) {
  model::expect_fails("deadlock: all threads sleep", {},
                      one_parks_till_notified<fault::park_looks_then_stores>);
}

TEST(planted_parker, whose_notify_looks_and_then_stores_does_not_wake) {
  model::expect_fails("deadlock: all threads sleep", {},
                      one_parks_till_notified<fault::notify_looks_then_stores>);
}

TEST(planted_parker, notified_with_relaxed_order_does_not_show_earlier_writes) {
  model::expect_fails("data race: owner reads", {},
                      one_parks_till_notified<fault::notified_relaxed>);
}

TEST(planted_parker, parked_with_relaxed_order_does_not_show_earlier_writes) {
  model::expect_fails("data race: owner reads", {}, one_parks_till_notified<fault::parked_relaxed>);
}

TEST(planted_parker, to_which_any_wake_will_do_wakes_for_no_reason) {
  model::expect_fails("data race: owner reads", {},
                      one_parks_till_notified<fault::any_wake_will_do>);
}

}  // namespace parker

namespace event_count {

enum class fault {
  none,
  no_second_look,
  epoch_read_too_late,
  sleepers_counted_relaxed,
  epoch_relaxed,
  no_new_epoch
};

// Lets threads sleep until an atomic has a certain value, at no cost while none sleeps.
template <fault planted>
class event_count {
 public:
  /// Call it before the check that decides whether to wait().
  [[nodiscard]] std::uint32_t prepare() {
    sleepers_.fetch_add(1, counting);
    // [epoch] acquire: after a new epoch, the second check sees the event that caused it.
    return epoch_.load(planted == fault::epoch_relaxed ? relaxed : acquire);
  }
  void wait(std::uint32_t since) {
    futex_wait(epoch_, planted == fault::epoch_read_too_late ? epoch_.load(acquire) : since);
    forget();
  }
  // [sleepers] relaxed: one too many only causes a useless wake.
  void forget() { sleepers_.fetch_sub(1, relaxed); }

  /// Call it after the event.
  void notify() {
    if (sleepers_.load(counting) == 0) return;
    // [epoch] release: the event.
    if constexpr (planted != fault::no_new_epoch) epoch_.fetch_add(1, release);
    futex_wake(epoch_, all_of_them);
  }

 private:
  // [sleepers] seq_cst, as for the event: either the notifier counts the sleeper, or the sleeper's
  // second check sees the event. With a weaker order, both may miss it.
  static constexpr auto counting = planted == fault::sleepers_counted_relaxed ? relaxed : seq_cst;

  atomic<std::uint32_t> epoch_{0};
  atomic<std::uint32_t> sleepers_{0};
};

template <fault planted>
void one_waits_for_another() {
  atomic<bool> happened{false};
  event_count<planted> events;
  const auto has_happened = [&] { return happened.load(seq_cst); };  // [sleepers]
  jthread waiter("waiter", [&] {
    while (!has_happened()) {
      const std::uint32_t since = events.prepare();
      if (planted != fault::no_second_look && has_happened()) {
        events.forget();
        break;
      }
      events.wait(since);
    }
  });
  jthread notifier("notifier", [&] {
    happened.store(true, seq_cst);  // [sleepers]
    events.notify();
  });
}

TEST(planted_event_count, wakes_a_waiter) {
  model::expect_holds(one_waits_for_another<fault::none>);
}

TEST(planted_event_count, whose_epoch_is_read_after_the_last_check_misses_the_event) {
  model::expect_fails("deadlock: all threads sleep", {},
                      one_waits_for_another<fault::epoch_read_too_late>);
}

TEST(planted_event_count, without_a_second_look_sleeps_through_the_event) {
  model::expect_fails("deadlock: all threads sleep", {},
                      one_waits_for_another<fault::no_second_look>);
}

TEST(planted_event_count, that_counts_sleepers_with_relaxed_order_does_not_wake_one) {
  model::expect_fails("deadlock: all threads sleep", {},
                      one_waits_for_another<fault::sleepers_counted_relaxed>);
}

TEST(planted_event_count, prepared_with_relaxed_order_sleeps_through_the_event) {
  model::expect_fails("deadlock: all threads sleep", {},
                      one_waits_for_another<fault::epoch_relaxed>);
}

TEST(planted_event_count, that_stays_the_same_does_not_keep_one_awake) {
  model::expect_fails("deadlock: all threads sleep", {},
                      one_waits_for_another<fault::no_new_epoch>);
}

}  // namespace event_count

namespace semaphore {

enum class fault { none, waiters_read_relaxed, wakes_before_it_counts, wakes_from_zero_only };

template <fault planted>
class semaphore {
 public:
  void wait() {
    while (!try_take()) {
      // [waiters] seq_cst: see post().
      waiters_.fetch_add(1, seq_cst);
      if (count_.load(seq_cst) == 0) futex_wait(count_, 0);
      // [waiters] relaxed: one too many only causes a useless wake.
      waiters_.fetch_sub(1, relaxed);
    }
  }

  void post() {
    if constexpr (planted == fault::wakes_before_it_counts) wake_one();
    // [waiters] seq_cst: either this sees the waiter, or the waiter sees the new count.
    const std::uint32_t before = count_.fetch_add(1, seq_cst);
    if (planted == fault::wakes_from_zero_only && before != 0) return;
    if constexpr (planted != fault::wakes_before_it_counts) wake_one();
  }

 private:
  bool try_take() {
    std::uint32_t count = count_.load(relaxed);  // checked by the exchange
    while (count > 0) {
      // [count] acquire: the work before the post.
      if (count_.compare_exchange_strong(count, count - 1, acquire, relaxed)) return true;
    }
    return false;
  }

  void wake_one() {
    const auto reading = planted == fault::waiters_read_relaxed ? relaxed : seq_cst;
    if (waiters_.load(reading) > 0) futex_wake(count_, 1);
  }

  atomic<std::uint32_t> count_{0};
  atomic<std::uint32_t> waiters_{0};
};

template <fault planted>
void one_waits() {
  semaphore<planted> permits;
  model::plain<int> work{0};
  jthread waiter("waiter", [&] {
    permits.wait();
    model::require(work == 1, "what came before the post is seen");
  });
  jthread poster("poster", [&] {
    work = 1;
    permits.post();
  });
}

template <fault planted>
void two_wait() {
  semaphore<planted> permits;
  jthread one("one", [&] { permits.wait(); });
  jthread other("other", [&] { permits.wait(); });
  permits.post();
  permits.post();
}

TEST(planted_semaphore, wakes_a_waiter) { model::expect_holds(one_waits<fault::none>); }

TEST(planted_semaphore, wakes_as_many_as_it_has_permits) {
  model::expect_holds(two_wait<fault::none>);
}

TEST(planted_semaphore, that_reads_its_waiters_with_relaxed_order_does_not_wake_one) {
  model::expect_fails("deadlock: all threads sleep", {}, one_waits<fault::waiters_read_relaxed>);
}

TEST(planted_semaphore, that_wakes_before_it_counts_wakes_too_early) {
  model::expect_fails("deadlock: all threads sleep", {}, one_waits<fault::wakes_before_it_counts>);
}

TEST(planted_semaphore, that_wakes_when_it_was_empty_only_wakes_too_few) {
  model::expect_fails("deadlock: all threads sleep", {}, two_wait<fault::wakes_from_zero_only>);
}

}  // namespace semaphore

}  // namespace
}  // namespace troupe
