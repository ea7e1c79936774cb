// SPDX-License-Identifier: Apache-2.0
// The policy that a class declares for the full mailboxes of its actors.
#include <gtest/gtest.h>

#include <troupe/actor/pump.hpp>
#include <troupe/actor/system.hpp>

#include "test_support.hpp"

namespace troupe::test {
namespace {

struct reading {};

class gauge : public actor {
 public:
  static constexpr auto on_full = overflow_policy::refuse;
  explicit gauge(int& handled) : handled_(handled) {}
  void on(reading) { ++handled_; }

 private:
  int& handled_;
};

struct pumped {
  troupe::system system{{.workers = 1, .max_messages = 2}};
  troupe::pump pump{system};
  int handled = 0;
};

TEST(overload_class, its_policy_applies_if_spawn_names_none) {
  pumped s;
  const auto it = s.system.spawn<gauge>({.where = bound_to(s.pump)}, s.handled);
  EXPECT_EQ(it.send(reading{}), delivery::accepted);
  EXPECT_EQ(it.send(reading{}), delivery::accepted);
  EXPECT_EQ(it.send(reading{}), delivery::refused);
  s.pump.run_until_idle();
  EXPECT_EQ(s.handled, 2);
  EXPECT_EQ(it.send(reading{}), delivery::accepted) << "there is room again";
}

TEST(overload_class, spawn_overrides_its_policy) {
  pumped s;
  const auto drops = s.system.spawn<gauge>(
      {.where = bound_to(s.pump), .on_full = overflow::drop_newest}, s.handled);
  const auto pauses = s.system.spawn<gauge>(
      {.where = bound_to(s.pump), .on_full = overflow::backpressure}, s.handled);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(drops.send(reading{}), delivery::accepted);
    EXPECT_EQ(pauses.send(reading{}), delivery::accepted);
  }
  EXPECT_EQ(drops.send(reading{}), delivery::dropped);
  EXPECT_EQ(pauses.send(reading{}), delivery::paused);
  s.pump.run_until_idle();
  EXPECT_EQ(s.handled, 5);
}

class one_that_waits : public actor {
 public:
  static constexpr auto on_full = overflow_policy::drop_newest;
  one_that_waits(event& begun, event& go_on) : begun_(begun), go_on_(go_on) {}
  void on(reading) {
    begun_.set();
    go_on_.wait();
  }

 private:
  event& begun_;
  event& go_on_;
};

TEST(overload_class, its_policy_holds_without_spawn_options) {
  event begun;
  event go_on;
  troupe::system system({.workers = 1, .max_messages = 1});
  const auto it = system.spawn<one_that_waits>(begun, go_on);
  EXPECT_EQ(it.send(reading{}), delivery::accepted);
  ASSERT_TRUE(begun.wait());
  // The one that is being handled counts as well.
  EXPECT_EQ(it.send(reading{}), delivery::dropped);
  go_on.set();
}

}  // namespace
}  // namespace troupe::test
