// SPDX-License-Identifier: Apache-2.0
// Actors that are functions: what they receive, and how they terminate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <troupe/troupe.hpp>
#include <utility>
#include <variant>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

struct hello {
  std::string name;
};
struct bye {};
struct carry {
  std::unique_ptr<int> what;
};

TEST(function_actor, receives_its_messages_in_order) {
  journal log;
  troupe::system system;
  const recipient<hello, bye> it = system.spawn<hello, bye>([&log](context& self) -> task<> {
    for (;;) {
      const auto m = co_await self.receive<hello, bye>();
      if (std::holds_alternative<bye>(m)) co_return;
      log.write("hello " + std::get<hello>(m).name);
    }
  });
  it.send(hello{"a"});
  it.send(hello{"b"});
  it.send(bye{});
  EXPECT_TRUE(log.wait_for(2));
  EXPECT_THAT(log.lines(), ElementsAre("hello a", "hello b"));
}

TEST(function_actor, stashes_messages_that_it_does_not_wait_for_in_order) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<hello, bye>([&log](context& self) -> task<> {
    (void)co_await self.receive<bye>();
    log.write("bye");
    log.write((co_await self.receive<hello>()).name);
    log.write((co_await self.receive<hello>()).name);
  });
  it.send(hello{"a"});
  it.send(hello{"b"});
  it.send(bye{});
  ASSERT_TRUE(log.wait_for(3));
  EXPECT_THAT(log.lines(), ElementsAre("bye", "a", "b"));
}

TEST(function_actor, counts_stashed_messages_in_its_limits) {
  journal log;
  stage on;
  const auto it = on.system.spawn<hello, bye>(
      {.where = bound_to(on.pump), .max_messages = 3, .on_full = overflow::refuse},
      [&log](context& self) -> task<> {
        (void)co_await self.receive<bye>();
        log.write("bye");
        while (co_await self.receive<hello>(0ms)) log.write("hello");
      });
  on.play();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(it.send(hello{""}), delivery::accepted);
    on.play();
  }
  EXPECT_EQ(it.send(hello{""}), delivery::accepted);
  on.play();
  EXPECT_EQ(it.send(hello{""}), delivery::refused);
  EXPECT_EQ(it.send(bye{}), delivery::refused);
}

TEST(function_actor, receives_nothing_in_time) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<hello>([&log](context& self) -> task<> {
    const time_point began = clock::now();
    const std::optional<hello> m = co_await self.receive<hello>(3ms);
    log.write(m ? "something" : clock::now() >= began + 3ms ? "nothing" : "too early");
    log.write((co_await self.receive<hello>(patience))->name);
  });
  ASSERT_TRUE(log.wait_for(1));
  it.send(hello{"later"});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_THAT(log.lines(), ElementsAre("nothing", "later"));
}

TEST(function_actor, receives_move_only_messages) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<carry>([&log](context& self) -> task<> {
    const carry m = co_await self.receive<carry>();
    log.write(std::to_string(*m.what));
  });
  it.send(carry{std::make_unique<int>(3)});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("3"));
}

class watching : public actor {
 public:
  watching(journal& log, address whom) : log_(log), whom_(whom) {}
  void on_start() { watch(whom_); }
  void on(const down& d) {
    log_.write(std::string(to_string(d.reason)) + " " + std::to_string(d.unhandled));
  }

 private:
  journal& log_;
  const address whom_;
};

TEST(function_actor, stops_when_it_returns_and_leaves_stashed_messages_unhandled) {
  journal log;
  stage on;
  const auto it = on.system.spawn<hello, bye>(
      {.where = bound_to(on.pump)},
      [](context& self) -> task<> { (void)co_await self.receive<bye>(); });
  const auto watcher = on.spawn<watching>(log, it);
  on.play();
  it.send(hello{"a"});
  it.send(hello{"b"});
  on.play();
  it.send(bye{});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("stopped 2"));
  EXPECT_EQ(on.told.dead_letters().size(), 2u);
}

TEST(function_actor, fails_with_its_exception_and_names_the_current_message) {
  stage on;
  const auto it = on.system.spawn<hello>({.where = bound_to(on.pump)}, [](context& self) -> task<> {
    (void)co_await self.receive<hello>();
    throw std::runtime_error("no");
  });
  it.send(hello{"a"});
  on.play();
  ASSERT_EQ(on.told.failures().size(), 1u);
  EXPECT_EQ(on.told.failures()[0].what, "no");
  EXPECT_THAT(on.told.failures()[0].message, ::testing::HasSubstr("hello"));
}

class counted_capture : counted<counted_capture> {
 public:
  using counted<counted_capture>::alive;
};

TEST(function_actor, that_waits_in_receive_terminates_when_it_is_unreferenced) {
  troupe::system system;
  {
    const auto it = system.spawn<hello>([held = counted_capture{}](context& self) -> task<> {
      for (;;) (void)co_await self.receive<hello>();
    });
    it.send(hello{"a"});
  }
  EXPECT_TRUE(eventually([] { return counted_capture::alive() == 0; }));
  EXPECT_TRUE(eventually([&] { return system.statistics().actors_alive == 0; }));
}

TEST(function_actor, with_a_deadline_it_stays_until_then) {
  journal log;
  troupe::system system;
  (void)system.spawn<hello>([&log](context& self) -> task<> {
    const auto m = co_await self.receive<hello>(3ms);
    log.write(m ? "something" : "nothing");
  });
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("nothing"));
}

struct ping {
  recipient<hello> to;
};

TEST(function_actor, gives_others_a_handle_to_itself) {
  journal log;
  troupe::system system;
  const auto echo = system.spawn<ping>([](context& self) -> task<> {
    const ping m = co_await self.receive<ping>();
    m.to.send(hello{"back"});
  });
  const auto it = system.spawn<hello>([&log, echo](context& self) -> task<> {
    ping m{self.recipient<hello>()};
    echo.send(std::move(m));
    log.write((co_await self.receive<hello>()).name);
    try {
      (void)self.recipient<bye>();
    } catch (const std::logic_error&) {
      log.write("not that");
    }
  });
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_THAT(log.lines(), ElementsAre("back", "not that"));
}

TEST(function_actor, that_waits_for_an_unlisted_message_type_fails_with_an_explanation) {
  stage on;
  const auto it = on.system.spawn<hello>({.where = bound_to(on.pump)}, [](context& self) -> task<> {
    (void)co_await self.receive<hello>();
    (void)co_await self.receive<hello, bye>(1ms);
  });
  it.send(hello{"a"});
  on.play();
  ASSERT_EQ(on.told.failures().size(), 1u);
  EXPECT_THAT(on.told.failures()[0].what,
              ::testing::StartsWith(
                  "context::receive() waits for a message type that was not listed when "));
}

TEST(function_actor, is_notified_when_a_watched_actor_terminates) {
  journal log;
  troupe::system system;
  const auto other =
      system.spawn<hello>([](context& self) -> task<> { (void)co_await self.receive<hello>(); });
  const auto it = system.spawn<down>([&log, other](context& self) -> task<> {
    self.watch(other);
    other.send(hello{"end"});
    const down d = co_await self.receive<down>();
    log.write(to_string(d.reason));
  });
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("stopped"));
}

task<> until_bye(context& self) { (void)co_await self.receive<bye>(); }

TEST(function_actor, is_stopped_and_joined_from_outside) {
  troupe::system system;
  const auto stopped = system.spawn<bye>(until_bye);
  EXPECT_EQ(stopped.join_for(0s), std::nullopt);
  stopped.stop();
  EXPECT_EQ(stopped.join(), exit_reason::stopped);
  const recipient<bye> at_once = system.spawn<bye>(until_bye);
  at_once.stop_now();
  EXPECT_EQ(at_once.join_until(clock::now() + patience), exit_reason::stopped_now);
}

TEST(function_actor, that_has_returned_breaks_no_link_and_gives_monitors_its_reason) {
  journal log;
  troupe::system system;
  const auto other = system.spawn<bye>(until_bye);
  other.send(bye{});
  EXPECT_EQ(other.join(), exit_reason::stopped);
  const auto it = system.spawn<down, bye>([&log, other](context& self) -> task<> {
    self.link(other);
    (void)self.watch(other);
    log.write(to_string((co_await self.receive<down>()).reason));
    const down again = co_await end_of(other);
    log.write(to_string(again.reason));
    (void)co_await self.receive<bye>();
    log.write("bye");
  });
  ASSERT_TRUE(log.wait_for(2));
  it.send(bye{});
  EXPECT_EQ(it.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("stopped", "stopped", "bye"));
}

TEST(function_actor, terminates_with_a_linked_actor_or_receives_link_down) {
  journal log;
  troupe::system system;
  const auto other = system.spawn<bye>(until_bye);
  const auto ends = system.spawn<hello, bye>([&log, other](context& self) -> task<> {
    self.link(other);
    log.write("linked");
    (void)co_await self.receive<bye>();
  });
  ASSERT_TRUE(log.wait_for(1));
  const auto told = system.spawn<link_down>([&log, other](context& self) -> task<> {
    self.link(other);
    log.write("linked");
    log.write(to_string((co_await self.receive<link_down>()).reason));
  });
  ASSERT_TRUE(log.wait_for(2));
  other.stop_now();
  EXPECT_EQ(ends.join(), exit_reason::link_broken);
  EXPECT_EQ(told.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("linked", "linked", "stopped_now"));
}

TEST(function_actor, that_unlinks_and_unwatches_is_not_notified) {
  journal log;
  troupe::system system;
  const auto other = system.spawn<bye>(until_bye);
  const auto it = system.spawn<down, bye>([&log, other](context& self) -> task<> {
    self.link(other);
    self.unlink(other);
    const monitor seen = self.watch(other);
    log.write(self.unwatch(seen) ? "unwatched" : "was over");
    (void)co_await self.receive<bye>();
    log.write((co_await self.receive<down>(0ms)).has_value() ? "down" : "nothing");
  });
  ASSERT_TRUE(log.wait_for(1));
  other.stop_now();
  EXPECT_EQ(other.join(), exit_reason::stopped_now);
  it.send(bye{});
  EXPECT_EQ(it.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("unwatched", "nothing"));
}

TEST(function_actor, unwatch_and_unlink_remove_notifications_not_yet_received) {
  journal log;
  stage s;
  const auto other = s.spawn<probe>(log);
  const auto it = s.system.spawn<down, link_down, hello, bye>(
      spawn_options{.where = bound_to(s.pump)}, [&log, &other](context& self) -> task<> {
        self.link(other);
        const monitor twice = self.watch(other);
        const monitor once = self.watch(other);
        (void)co_await self.receive<hello>();
        log.write(self.unwatch(once) ? "unwatched" : "was over");
        self.unlink(other.address());
        const auto told = co_await self.receive<down>(0ms);
        log.write(told && told->monitor == twice ? "told of the other watch" : "not told");
        log.write(self.unwatch(twice) ? "unwatched" : "was over");
        log.write((co_await self.receive<down>(0ms)) ? "told again" : "not told");
        log.write((co_await self.receive<link_down>(0ms)) ? "told of the link" : "not told");
        self.watch(other);
        self.link(other);
        log.write((co_await self.receive<down>(0ms)) ? "told" : "not told");
        log.write((co_await self.receive<link_down>(0ms)) ? "told of the link" : "not told");
        (void)co_await self.receive<bye>();
      });
  s.play();
  other.stop_now();
  s.play();
  it.send(hello{});
  EXPECT_TRUE(eventually([&] { return s.play(), log.lines().size() == 8; }));
  EXPECT_THAT(log.lines(),
              ElementsAre("destroyed", "unwatched", "told of the other watch", "was over",
                          "not told", "not told", "told", "told of the link"));
  it.send(bye{});
  s.play();
}

TEST(function_actor, that_returns_leaves_no_unreceived_notifications_behind) {
  journal log;
  stage s;
  const auto other = s.spawn<probe>(log);
  const auto it = s.system.spawn<down, link_down, bye>(spawn_options{.where = bound_to(s.pump)},
                                                       [&other](context& self) -> task<> {
                                                         self.link(other);
                                                         self.watch(other);
                                                         self.unwatch(self.watch(other));
                                                         (void)co_await self.receive<bye>();
                                                       });
  s.play();
  other.stop_now();
  s.play();
  it.send(bye{});
  s.play();
  EXPECT_EQ(it.join(), exit_reason::stopped);
}

// ── A function takes no messages while it waits for something else ────────────────────────────

struct many {
  int left;
};

// Sends as many to a function whose mailbox holds fewer, so it is suspended.
class flood : public actor {
 public:
  explicit flood(recipient<many, bye>& to) : to_(to) {}
  void on(const many& m) {
    if (to_) {
      for (int i = 0; i < m.left; ++i) (void)to_.send(many{i});
    }
  }
  int on(bye) { return 1; }

 private:
  recipient<many, bye>& to_;
};

TEST(function_actor, resumes_when_it_and_its_receiver_wait_for_space_in_each_other) {
  journal log;
  stage s;
  recipient<many, bye> it;
  const auto other = s.spawn<flood>(spawn_options{.max_messages = 2}, it);
  it = s.system.spawn<many, bye>(spawn_options{.where = bound_to(s.pump), .max_messages = 2},
                                 [&log, other](context& self) -> task<> {
                                   (void)co_await self.receive<bye>();
                                   int accepted = 0;
                                   for (int i = 0; i < 3; ++i) {
                                     if (co_await other.async_send(many{0}) == delivery::accepted)
                                       ++accepted;
                                   }
                                   log.write(std::to_string(accepted) + " accepted");
                                   for (int i = 0; i < 8; ++i) (void)co_await self.receive<many>();
                                   log.write("all received");
                                 });
  (void)other.send(many{8});
  s.play();
  EXPECT_EQ(s.system.statistics().senders_paused, 1u);
  (void)it.send(bye{});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("3 accepted", "all received"));
  EXPECT_GE(s.system.statistics().wait_cycles, 1u);
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
  it = {};
}

TEST(function_actor, that_waits_for_space_in_its_own_mailbox_resumes) {
  journal log;
  stage s;
  const auto it = s.system.spawn<many>(
      spawn_options{.where = bound_to(s.pump), .max_messages = 2}, [&log](context& self) -> task<> {
        const auto me = self.recipient<many>();
        for (int i = 0; i < 5; ++i) (void)co_await me.async_send(many{i});
        for (int i = 0; i < 5; ++i) {
          log.write(std::to_string((co_await self.receive<many>()).left));
        }
      });
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("0", "1", "2", "3", "4"));
}

TEST(function_actor, gets_the_reply_of_an_actor_that_waits_for_space_in_its_mailbox) {
  journal log;
  stage s;
  recipient<many, bye> it;
  const auto other = s.spawn<flood>(spawn_options{.max_messages = 2}, it);
  it = s.system.spawn<many, bye>(spawn_options{.where = bound_to(s.pump), .max_messages = 2},
                                 [&log, other](context& self) -> task<> {
                                   (void)co_await self.receive<bye>();
                                   const auto got = co_await other.ask<bye>(no_timeout);
                                   log.write(got ? "answered" : got.message());
                                 });
  (void)other.send(many{8});
  s.play();
  (void)it.send(bye{});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("answered"));
  EXPECT_EQ(s.system.statistics().wait_cycles, 1u);
  it = {};
}

TEST(function_actor, can_spawn_and_ask_and_sleep) {
  struct adder : actor {
    int on(int m) { return m + 1; }
  };
  journal log;
  troupe::system system;
  const auto it = system.spawn<bye>([&log](context& self) -> task<> {
    const auto to = self.system().spawn<adder>();
    co_await sleep_for(1ms);
    auto got = co_await to.ask<int>(patience, 41);
    log.write(std::to_string(got.value()));
  });
  EXPECT_EQ(it.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("42"));
}

}  // namespace
}  // namespace troupe::test
