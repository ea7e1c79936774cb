// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <memory>
#include <troupe/detail/sync/event.hpp>
#include <troupe/detail/sync/event_count.hpp>

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

TEST(event, wakes_all_waiters_and_shows_earlier_writes) {
  expect_holds([] {
    event one;
    plain<int> value{0};
    const auto waiter = [&] {
      one.wait();
      require(value == 1, "what came before set() is seen");
    };
    jthread first("first", waiter);
    jthread second("second", waiter);
    value = 1;
    one.set();
  });
}

TEST(event, reports_at_the_deadline_whether_it_is_set) {
  expect_holds([] {
    event one;
    plain<int> value{0};
    jthread other("other", [&] {
      value = 1;
      one.set();
    });
    if (!varies(one.wait_until(time_point{}), "it is set in time")) one.wait();
    require(value == 1, "what came before set() is seen");
  });
}

TEST(event, may_end_as_soon_as_its_waiter_is_awake) {
  expect_holds([] {
    auto one = std::make_unique<event>();
    jthread other([at = one.get()] { at->set(); });
    one->wait();
    one.reset();
  });
}

// The waited-for word has relaxed orders. The event count adds the missing ordering.
class flag_behind_events {
 public:
  void wait() {
    while (!happened_.load(relaxed)) {
      const auto ticket = events_.prepare_wait();
      if (varies(happened_.load(relaxed), "it has happened meanwhile")) {
        events_.cancel_wait();
        break;
      }
      events_.wait(ticket);
    }
  }

  bool wait_once() {
    const auto ticket = events_.prepare_wait();
    if (varies(happened_.load(relaxed), "it has happened before")) {
      events_.cancel_wait();
      return true;
    }
    return events_.wait_until(ticket, time_point{});
  }

  void happens() {
    happened_.store(true, relaxed);
    events_.notify_all();
  }

  event_count& events() { return events_; }

 private:
  atomic<bool> happened_{false};
  event_count events_;
};

TEST(event_count, wakes_a_waiter) {
  expect_holds([] {
    flag_behind_events flag;
    jthread waiter("waiter", [&] { flag.wait(); });
    flag.happens();
  });
}

TEST(event_count, wakes_all_waiters) {
  expect_holds({.preemptions = 2}, [] {
    flag_behind_events flag;
    jthread one("one", [&] { flag.wait(); });
    jthread other("other", [&] { flag.wait(); });
    flag.happens();
  });
}

TEST(event_count, wakes_a_waiter_after_another_has_cancelled) {
  expect_holds({.preemptions = 2}, [] {
    flag_behind_events flag;
    event_count& events = flag.events();
    jthread other("other", [&] {
      (void)events.prepare_wait();
      events.cancel_wait();
    });
    jthread waiter("waiter", [&] { flag.wait(); });
    flag.happens();
  });
}

TEST(event_count, shows_writes_before_the_notification) {
  expect_holds([] {
    event_count events;
    plain<int> value{0};
    jthread other("other", [&] {
      value = 1;
      events.notify_one();
    });
    const auto ticket = events.prepare_wait();
    if (varies(events.wait_until(ticket, time_point{}), "it is notified in time")) {
      require(value == 1, "it is seen");
    }
  });
}

TEST(event_count, notifies_one_for_each_of_two) {
  expect_holds({.preemptions = 2}, [] {
    event_count events;
    atomic<int> left{0};
    const auto taker = [&] {
      for (;;) {
        int found = left.load(relaxed);
        while (found > 0) {
          if (left.compare_exchange_strong(found, found - 1, relaxed, relaxed)) return;
        }
        const auto ticket = events.prepare_wait();
        if (varies(left.load(relaxed) > 0, "there is one meanwhile")) {
          events.cancel_wait();
        } else {
          events.wait(ticket);
        }
      }
    };
    jthread one("one", taker);
    jthread other("other", taker);
    left.fetch_add(1, relaxed);
    events.notify_one();
    left.fetch_add(1, relaxed);
    events.notify_one();
  });
}

TEST(event_count, at_the_deadline_the_event_is_not_lost) {
  expect_holds([] {
    flag_behind_events flag;
    jthread other("other", [&] { flag.happens(); });
    if (!varies(flag.wait_once(), "it happens in time")) flag.wait();
  });
}

}  // namespace
}  // namespace troupe
