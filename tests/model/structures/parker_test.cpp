// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <memory>
#include <troupe/detail/sync/parker.hpp>

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

TEST(parker, a_notification_is_never_lost) {
  expect_holds([] {
    parker p;
    jthread owner([&] { p.park(); });
    p.notify();
  });
}

TEST(parker, a_notification_shows_writes_before_it) {
  expect_holds([] {
    parker p;
    plain<int> first{0};
    plain<int> second{0};
    atomic<int> notified{0};
    jthread one([&] {
      first = 1;
      p.notify();
    });
    jthread two([&] {
      second = 1;
      p.notify();
      notified.store(1, relaxed);
    });
    p.park();
    // One of them, if not both: two notifications may count as one.
    if (!varies(notified.load(relaxed) != 0, "the second one has notified")) return;
    p.notify();
    p.park();
  });
}

TEST(parker, two_notifications_in_sequence_are_both_seen) {
  expect_holds([] {
    parker p;
    plain<int> first{0};
    plain<int> second{0};
    jthread other([&] {
      first = 1;
      p.notify();
      second = 1;
      p.notify();
    });
    p.park();
    require(first == 1, "the first is seen");
  });
}

TEST(parker, as_many_are_seen_as_are_waited_for_in_turns) {
  expect_holds([] {
    parker here;
    parker there;
    plain<int> ball{0};
    jthread other([&] {
      there.park();
      require(ball == 1, "it was thrown");
      ball = 2;
      here.notify();
    });
    ball = 1;
    there.notify();
    here.park();
    require(ball == 2, "it was thrown back");
  });
}

TEST(parker, reports_at_the_deadline_whether_it_was_notified) {
  expect_holds([] {
    parker p;
    plain<int> value{0};
    jthread other([&] {
      value = 1;
      p.notify();
    });
    if (varies(p.park_until(time_point{}), "it is notified in time")) {
      require(value == 1, "a notification brings what was written before it");
    } else {
      p.park();  // the notification is still to come
      require(value == 1, "a notification after the deadline is kept");
    }
  });
}

TEST(parker, a_spinning_wait_shows_writes_before_the_notification) {
  expect_holds([] {
    parker p;
    plain<int> value{0};
    jthread other([&] {
      value = 1;
      p.notify();
    });
    adaptive_spin spin;
    if (!varies(p.park_until(time_point{}, spin), "it is notified in time")) p.park(spin);
    require(value == 1, "a notification brings what was written before it");
  });
}

TEST(parker, may_end_as_soon_as_its_owner_is_awake) {
  expect_holds([] {
    auto p = std::make_unique<parker>();
    jthread other([at = p.get()] { at->notify(); });
    p->park();
    p.reset();
  });
}

}  // namespace
}  // namespace troupe
