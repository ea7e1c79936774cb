// SPDX-License-Identifier: Apache-2.0
// Handlers that wait for channels: what they receive.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/ask_test_support.hpp"
#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using enum channel_delivery;

/// Actors on a stage, whose handlers the test supplies.
struct scene {
  void begin(std::function<task<>(asker_actor&)> what) {
    who.send(work{std::move(what)});
    on.play();
  }
  /// Plays nothing else: even if the time of a wait is over at once, its message stays in the
  /// mailbox.
  void begin_alone(std::function<task<>(asker_actor&)> what) {
    on.play();
    who.send(work{std::move(what)});
    EXPECT_EQ(on.pump.drain_at_most(1), 1u);
  }
  void begin_exclusive(std::function<task<>(asker_actor&)> what) {
    who.send(exclusive_work{std::move(what)});
    on.play();
  }
  /// Plays until there are a given number of lines: timers fire by themselves.
  [[nodiscard]] bool comes(std::size_t lines) {
    return eventually([&] {
      on.play();
      return log.lines().size() >= lines;
    });
  }

  journal log;
  stage on;
  ref<asker_actor> who = on.spawn<asker_actor>(log);
};

using lines = std::vector<std::string>;

std::string text(const received<int>& got) {
  if (got) return std::to_string(*got);
  return got.is_closed() ? "closed" : "nothing";
}

task<> next_into_log(asker_actor& me, channel<int>::receiver from) {
  me.log.write(text(co_await from.next()));
}

// ── next() ────────────────────────────────────────────────────────────────────────────────────

TEST(channel_handler, next_takes_an_available_value_without_waiting) {
  scene s;
  const channel<int> in(2);
  in.send(1);
  s.begin([&](asker_actor& me) { return next_into_log(me, in); });
  EXPECT_EQ(s.log.lines(), lines{"1"});
}

TEST(channel_handler, next_suspends_the_handler_while_the_actor_handles_other_messages) {
  scene s;
  const channel<int> in(2);
  s.begin([&](asker_actor& me) { return next_into_log(me, in); });
  s.who.send(note{"meanwhile"});
  s.on.play();
  EXPECT_EQ(in.waiting(), 1u);
  EXPECT_EQ(in.send(7), accepted);
  EXPECT_EQ(in.size(), 0u) << "it was handed over";
  s.on.play();
  EXPECT_EQ(s.log.lines(), (lines{"meanwhile", "7"}));
}

TEST(channel_handler, next_reports_that_the_channel_is_closed) {
  scene s;
  const channel<int> in(2);
  s.begin([&](asker_actor& me) { return next_into_log(me, in); });
  in.close();
  s.on.play();
  s.begin([&](asker_actor& me) { return next_into_log(me, in); });
  EXPECT_EQ(s.log.lines(), (lines{"closed", "closed"}));
}

TEST(channel_handler, next_gives_up_after_its_time) {
  scene s;
  const channel<int> in(2);
  s.begin([&](asker_actor& me) -> task<> { me.log.write(text(co_await in.next(1ms))); });
  ASSERT_TRUE(s.comes(1));
  EXPECT_EQ(s.log.lines(), lines{"nothing"});
  EXPECT_EQ(in.waiting(), 0u);
}

TEST(channel_handler, next_without_any_time_only_looks) {
  scene s;
  const channel<int> in(2);
  s.begin([&](asker_actor& me) -> task<> { me.log.write(text(co_await in.next(0ms))); });
  EXPECT_EQ(s.log.lines(), lines{"nothing"});
}

TEST(channel_handler, an_unexpired_timeout_has_no_effect) {
  scene s;
  const channel<int> in(2);
  s.begin([&](asker_actor& me) -> task<> {
    me.log.write(text(co_await in.next(patience)));
    co_await sleep_for(2ms);  // it checks the time again
    me.log.write("later");
  });
  in.send(3);
  ASSERT_TRUE(s.comes(2));
  EXPECT_EQ(s.log.lines(), (lines{"3", "later"}));
}

TEST(channel_handler, a_value_that_arrives_before_the_timeout_is_handled_is_received) {
  scene s;
  const channel<int> in(2);
  s.begin_alone([&](asker_actor& me) -> task<> {
    me.log.write(text(co_await in.next(1ms)));
    me.log.write(text(co_await in.next()));  // it is not woken by the first one's message
  });
  ASSERT_TRUE(time_passes(s.on.system));
  in.send(1);
  s.on.play();
  EXPECT_EQ(s.log.lines(), lines{"1"});
  in.send(2);
  s.on.play();
  EXPECT_EQ(s.log.lines(), (lines{"1", "2"}));
}

TEST(channel_handler, handlers_and_threads_are_served_in_the_order_of_their_coming) {
  scene s;
  const channel<int> in(4);
  s.begin([&](asker_actor& me) { return next_into_log(me, in); });
  int of_thread = 0;
  std::jthread other([&] { of_thread = *in.receive(); });
  ASSERT_TRUE(eventually([&] { return in.waiting() == 2; }));
  s.begin([&](asker_actor& me) { return next_into_log(me, in); });
  for (int i = 1; i <= 3; ++i) in.send(int{i});
  other.join();
  s.on.play();
  EXPECT_EQ(of_thread, 2);
  EXPECT_EQ(s.log.lines(), (lines{"1", "3"}));
}

TEST(channel_handler, next_keeps_its_actor_alive) {
  scene s;
  const channel<int> in(4);
  s.begin([&](asker_actor& me) { return next_into_log(me, in); });
  s.who = {};
  s.on.play();
  EXPECT_EQ(s.log.lines(), lines{});
  in.send(5);
  s.on.play();
  EXPECT_EQ(s.log.lines(), (lines{"5", "destroyed"}));
}

TEST(channel_handler, the_channel_may_go_while_a_handler_waits) {
  scene s;
  auto in = std::make_unique<channel<int>>(4);
  s.begin([&](asker_actor& me) -> task<> {
    auto& from = *in;
    me.log.write(text(co_await from.next(patience)));
  });
  in.reset();
  s.on.play();
  EXPECT_EQ(s.log.lines(), lines{"closed"});
}

TEST(channel_handler, an_exclusive_handler_keeps_other_messages_waiting) {
  scene s;
  const channel<int> in(4);
  s.begin_exclusive([&](asker_actor& me) { return next_into_log(me, in); });
  s.who.send(note{"after"});
  s.on.play();
  in.send(1);
  s.on.play();
  EXPECT_EQ(s.log.lines(), (lines{"1", "after"}));
}

TEST(channel_handler, a_function_that_is_an_actor_may_wait_too) {
  stage on;
  journal log;
  const channel<int> in(4);
  const auto it =
      on.system.spawn<note>(spawn_options{.where = bound_to(on.pump)}, [&](context&) -> task<> {
        while (const auto got = co_await in.next()) {
          log.write(text(got));
        }
      });
  on.play();
  in.send(1);
  in.send(2);
  on.play();
  in.close();
  on.play();
  EXPECT_EQ(log.lines(), (lines{"1", "2"}));
}

// ── async_send() ─────────────────────────────────────────────────────────────────────────

TEST(channel_handler, async_send_completes_at_once_if_there_is_space) {
  scene s;
  const channel<std::unique_ptr<int>> out(1);
  s.begin([&](asker_actor& me) -> task<> {
    const auto became = co_await out.async_send(std::make_unique<int>(4));
    me.log.write(to_string(became.what()));
  });
  EXPECT_EQ(s.log.lines(), lines{"accepted"});
  EXPECT_EQ(**out.receive(), 4);
}

TEST(channel_handler, send_when_ready_waits_for_room) {
  scene s;
  const channel<int> out(1);
  out.send(1);
  s.begin([&](asker_actor& me) -> task<> {
    if (co_await out.async_send(2)) me.log.write("sent");
  });
  s.who.send(note{"meanwhile"});
  s.on.play();
  EXPECT_EQ(*out.receive(), 1);
  EXPECT_EQ(out.size(), 1u) << "it came into the place";
  s.on.play();
  EXPECT_EQ(s.log.lines(), (lines{"meanwhile", "sent"}));
  EXPECT_EQ(*out.receive(), 2);
  EXPECT_EQ(out.counts().paused, 1u);
}

TEST(channel_handler, async_send_returns_the_value_if_the_channel_is_closed) {
  scene s;
  const channel<std::unique_ptr<int>> out(0);
  s.begin([&](asker_actor& me) -> task<> {
    auto became = co_await out.async_send(std::make_unique<int>(4));
    if (became == closed) me.log.write("closed " + std::to_string(*became.value()));
  });
  out.close();
  s.on.play();
  EXPECT_EQ(s.log.lines(), lines{"closed 4"});
}

TEST(channel_handler, async_send_returns_the_value_after_a_timeout) {
  scene s;
  const channel<std::unique_ptr<int>> out(0);
  s.begin([&](asker_actor& me) -> task<> {
    auto became = co_await out.async_send(1ms, std::make_unique<int>(4));
    if (became == timed_out) me.log.write("late " + std::to_string(*became.value()));
  });
  ASSERT_TRUE(s.comes(1));
  EXPECT_EQ(s.log.lines(), lines{"late 4"});
  EXPECT_EQ(out.counts().pauses_timed_out, 1u);
  EXPECT_EQ(out.waiting(), 0u);
}

TEST(channel_handler, other_policies_than_to_pause_decide_at_once) {
  scene s;
  const channel<int> refuses(1, overflow::refuse);
  const channel<int> drops(1, overflow::drop_newest);
  const channel<int> drops_oldest(1, overflow::drop_oldest);
  for (const auto& each : {refuses, drops, drops_oldest}) each.send(1);
  s.begin([&](asker_actor& me) -> task<> {
    for (const auto& each : {refuses, drops, drops_oldest}) {
      const auto became = co_await each.async_send(patience, 2);
      me.log.write(to_string(became.what()));
    }
  });
  EXPECT_EQ(s.log.lines(), (lines{"refused", "dropped", "accepted"}));
  EXPECT_EQ(*drops_oldest.receive(), 2);
  EXPECT_EQ(refuses.counts().refused + drops.counts().dropped + drops_oldest.counts().dropped, 3u);
}

TEST(channel_handler, two_handlers_of_one_actor_exchange_a_value_without_a_buffer) {
  scene s;
  const channel<int> hand(0);
  s.begin([&](asker_actor& me) { return next_into_log(me, hand); });
  s.begin([&](asker_actor& me) -> task<> {
    if (co_await hand.async_send(8)) me.log.write("sent");
  });
  EXPECT_EQ(s.log.lines(), (lines{"sent", "8"}));
}

// ── select_when_ready() ───────────────────────────────────────────────────────────────────────

TEST(channel_handler, select_takes_the_one_that_is_ready) {
  scene s;
  const channel<int> a(1);
  const channel<std::string> b(1);
  b.send("text");
  s.begin([&](asker_actor& me) -> task<> {
    const selection one =
        co_await select_when_ready(from(a, [&](int) { me.log.write("a"); }),
                                   from(b, [&](const std::string& t) { me.log.write(t); }));
    me.log.write(std::to_string(one.index()));
  });
  EXPECT_EQ(s.log.lines(), (lines{"text", "1"}));
}

TEST(channel_handler, select_waits_for_several_and_leaves_all_lines) {
  scene s;
  const channel<int> a(1);
  const channel<int> b(1);
  const channel<int> c(1);
  c.send(0);
  s.begin([&](asker_actor& me) -> task<> {
    const selection one = co_await select_when_ready(
        patience, from(a, [&](int) { me.log.write("a"); }),
        from(b, [&](int n) { me.log.write(std::to_string(n)); }), into(c, 1));
    me.log.write(std::to_string(one.index()));
  });
  EXPECT_EQ(a.waiting() + b.waiting() + c.waiting(), 3u);
  b.send(6);
  a.send(5);
  s.on.play();
  EXPECT_EQ(s.log.lines(), (lines{"6", "1"}));
  EXPECT_EQ(a.waiting() + b.waiting() + c.waiting(), 0u);
  EXPECT_EQ(a.size(), 1u) << "exactly one is taken";
}

TEST(channel_handler, select_sends_once_there_is_space) {
  scene s;
  const channel<std::unique_ptr<int>> out(1);
  out.send(nullptr);
  s.begin([&](asker_actor& me) -> task<> {
    auto value = std::make_unique<int>(3);
    co_await select_when_ready(into(out, std::move(value), [&] { me.log.write("sent"); }));
  });
  EXPECT_EQ(*out.receive(), nullptr);
  s.on.play();
  EXPECT_EQ(s.log.lines(), lines{"sent"});
  EXPECT_EQ(**out.receive(), 3);
}

TEST(channel_handler, select_gives_up_after_its_time) {
  scene s;
  const channel<int> a(1);
  const channel<int> b(0);
  s.begin([&](asker_actor& me) -> task<> {
    const selection one = co_await select_when_ready(1ms, from(a, [](int) {}), into(b, 1));
    if (one.timed_out()) me.log.write("late");
  });
  ASSERT_TRUE(s.comes(1));
  EXPECT_EQ(a.waiting() + b.waiting(), 0u);
}

TEST(channel_handler, select_reports_that_all_channels_are_closed) {
  scene s;
  const channel<int> a(1);
  const channel<int> b(1);
  s.begin([&](asker_actor& me) -> task<> {
    const selection one = co_await select_when_ready(from(a, [](int) {}), from(b, [](int) {}));
    if (one.closed()) me.log.write("closed");
  });
  a.close();
  s.on.play();
  EXPECT_EQ(s.log.lines(), lines{});
  b.close();
  s.on.play();
  EXPECT_EQ(s.log.lines(), lines{"closed"});
}

TEST(channel_handler, a_case_that_has_a_name_can_be_used_again) {
  struct tag {};
  scene s;
  const channel<counted<tag>> out(1, overflow::drop_oldest);
  const channel<int> in(4);
  in.close();
  s.begin([&](asker_actor& me) -> task<> {
    auto sends = into(out, counted<tag>{}, [owned = std::make_unique<int>(1)] {});
    for (int i = 0; i < 3; ++i) co_await select_when_ready(sends);
    auto ends = from(in, [&](const received<int>& got) { me.log.write(text(got)); });
    for (int i = 0; i < 2; ++i) co_await select_when_ready(ends);
  });
  EXPECT_EQ(s.log.lines(), (lines{"closed", "closed"}));
  EXPECT_EQ(counted<tag>::alive(), 1) << "the one in the channel";
}

TEST(channel_handler, an_exception_in_a_select_callback_fails_the_actor) {
  scene s;
  const channel<int> a(1);
  s.begin([&](asker_actor&) -> task<> {
    co_await select_when_ready(from(a, [](int) { throw std::runtime_error("broken"); }));
  });
  a.send(1);
  s.on.play();
  EXPECT_EQ(s.who.join(), exit_reason::failed);
  EXPECT_EQ(a.size(), 0u) << "the value has been taken";
}

}  // namespace
}  // namespace troupe::test
