// SPDX-License-Identifier: Apache-2.0
// Groups: their members' termination, and invalid options.
#include <troupe/actor/serial_group.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/system.hpp>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct work {};
struct question {};

class oracle : public actor {
 public:
  int on(question) { return 42; }
};

// ── Ends ──────────────────────────────────────────────────────────────────────────────────────

TEST(serial_group_ends, keeps_running_however_its_members_terminate) {
  recorder told;
  journal log;
  system s(told.options(2));
  const serial_group group(s);
  const auto stays = s.spawn<probe>({.group = group}, log);
  const auto stops = s.spawn<probe>({.group = group}, log);
  const auto fails = s.spawn<probe>({.group = group}, log);
  const auto is_stopped = s.spawn<probe>({.group = group}, log);
  stops.send(call{[](probe& p) { p.stop(); }});
  fails.send(call{[](probe&) { throw std::runtime_error("as it was told"); }});
  is_stopped.stop_now();
  EXPECT_EQ(stops.join(), exit_reason::stopped);
  EXPECT_EQ(fails.join(), exit_reason::failed);
  EXPECT_EQ(is_stopped.join(), exit_reason::stopped_now);
  stays.send(note{"still there"});
  ASSERT_TRUE(log.wait_for(4));
  EXPECT_EQ(log.lines().back(), "still there");
  EXPECT_EQ(told.failures().size(), 1u);
}

TEST(serial_group_ends, a_constructor_that_throws_leaves_nothing_behind) {
  class never : public actor {
   public:
    never() { throw std::runtime_error("no"); }
    void on(work) {}
  };
  system s({.workers = 1});
  std::optional<serial_group> group(s);
  EXPECT_THROW((void)s.spawn<never>({.group = *group}), std::runtime_error);
  const auto one = s.spawn<oracle>({.group = *group});
  EXPECT_THROW((void)s.spawn<never>({.group = *group}), std::runtime_error);
  group.reset();
  EXPECT_EQ(one.ask<question>(patience).get().value(), 42) << "its members keep the group";
}

TEST(serial_group_ends, links_and_watches_within_it_work) {
  recorder told;
  journal log;
  system s(told.options(2));
  const serial_group group(s);
  const auto watcher = s.spawn<probe>({.group = group}, log);
  const auto watched = s.spawn<probe>({.group = group}, log);
  event watches;
  watcher.send(call{[&](probe& p) {
    p.watch(watched);
    watches.set();
  }});
  ASSERT_TRUE(watches.wait());
  watched.send(call{[](probe&) { throw std::runtime_error("as it was told"); }});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_EQ(log.lines(), (std::vector<std::string>{"destroyed", "down: failed"}));
}

TEST(serial_group_ends, timer_messages_reach_its_members) {
  journal log;
  system s({.workers = 1});
  const serial_group group(s);
  const auto one = s.spawn<probe>({.group = group}, log);
  one.send(note{"now"});
  one.send_after(2ms, note{"later"});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_EQ(log.lines(), (std::vector<std::string>{"now", "later"}));
}

// ── Wrong options ─────────────────────────────────────────────────────────────────────────────

template <class Do>
std::string error_of(Do&& what) {
  try {
    what();
    return "none";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

TEST(serial_group_ends, does_not_go_with_another_placement) {
  system s({.workers = 1, .dispatchers = {{.name = "io", .workers = 1}}});
  const serial_group group(s);
  EXPECT_THAT(error_of([&] { (void)s.spawn<oracle>({.where = own_thread, .group = group}); }),
              HasSubstr("a group and a `where` other than pool"));
  EXPECT_THAT(
      error_of([&] { (void)s.spawn<oracle>({.dispatcher = "io", .group = group}); }),
      AllOf(HasSubstr("\"io\" and a group"), HasSubstr("set the dispatcher of the group instead")));
}

TEST(serial_group_ends, of_an_unknown_dispatcher_is_refused) {
  system s({.workers = 1});
  EXPECT_THAT(error_of([&] { const serial_group group(s, "oi"); }), HasSubstr("\"oi\""));
}

TEST(serial_group_ends, of_another_system_is_refused) {
  system s({.workers = 1});
  std::optional<serial_group> group;
  {
    system other({.workers = 1});
    group.emplace(other);
    EXPECT_THAT(error_of([&] { (void)s.spawn<oracle>({.group = group}); }),
                HasSubstr("another system"));
  }
  system next({.workers = 1});  // possibly with the same memory
  EXPECT_THAT(error_of([&] { (void)next.spawn<oracle>({.group = group}); }),
              HasSubstr("no longer exists"));
}

}  // namespace
}  // namespace troupe::test
