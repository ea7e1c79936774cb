// SPDX-License-Identifier: Apache-2.0
// Actors that are functions: what they receive, and how they end.
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

TEST(function_actor, receives_what_is_sent_to_it) {
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

TEST(function_actor, keeps_what_it_does_not_wait_for_in_order) {
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

TEST(function_actor, what_it_keeps_counts_in_its_limits) {
  journal log;
  stage on;
  const auto it = on.system.spawn<hello, bye>(
      {.where = bound_to(on.pump), .max_messages = 3, .when_full = overload::refuse},
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

TEST(function_actor, receives_what_can_only_be_moved) {
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

TEST(function_actor, ends_as_stopped_when_it_returns_and_what_it_kept_is_unhandled) {
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

TEST(function_actor, fails_with_what_it_throws_and_says_during_which_message) {
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

TEST(function_actor, that_waits_for_messages_ends_when_nobody_is_left_with_what_it_has_captured) {
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

TEST(function_actor, that_waits_for_what_it_cannot_be_sent_fails_and_says_so) {
  stage on;
  const auto it = on.system.spawn<hello>({.where = bound_to(on.pump)}, [](context& self) -> task<> {
    (void)co_await self.receive<hello>();
    (void)co_await self.receive<hello, bye>(1ms);
  });
  it.send(hello{"a"});
  on.play();
  ASSERT_EQ(on.told.failures().size(), 1u);
  EXPECT_THAT(on.told.failures()[0].what,
              ::testing::StartsWith("context::receive() names a message with which "));
}

TEST(function_actor, is_told_of_the_end_of_others) {
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

}  // namespace
}  // namespace troupe::test
