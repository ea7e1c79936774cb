// SPDX-License-Identifier: Apache-2.0
// Questions and their answers: who gets which, and what comes instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct add {
  int a;
  int b;
};
struct greet {
  std::string name;
};
struct give {
  std::unique_ptr<int> what;
};
struct break_down {};
struct answer_later {};
struct answer_now {
  int with;
};
struct who_asks {};

/// Answers in all the ways that there are.
class oracle : public actor {
 public:
  int on(add m) { return m.a + m.b; }
  std::string on(const greet& m) { return "hello " + m.name; }
  std::unique_ptr<int> on(give m) { return std::move(m.what); }
  int on(break_down) { throw std::runtime_error("broken"); }
  void on(answer_later, reply<int> owed) { owed_.push_back(std::move(owed)); }
  void on(answer_now m) {
    if (owed_.empty()) return;
    owed_.back().fulfil(m.with);
    owed_.pop_back();
  }
  bool on(who_asks, address sender) { return static_cast<bool>(sender); }

 private:
  std::vector<reply<int>> owed_;
};

/// Runs what the test supplies as a handler that is a coroutine.
struct work {
  std::function<task<>(class asker_actor&)> what;
};
struct exclusive_work {
  std::function<task<>(class asker_actor&)> what;
};

class asker_actor : public actor {
 public:
  explicit asker_actor(journal& to) : log(to) {}
  ~asker_actor() { log.write("destroyed"); }
  task<> on(work m) { co_await m.what(*this); }
  exclusive_task<> on(exclusive_work m) { co_await m.what(*this); }
  void on(const note& n) { log.write(n.text); }
  task<int> on(add m) {
    co_await sleep_for(1ms);
    co_return m.a + m.b;
  }
  journal& log;
};

template <class T>
std::string text(const ask_result<T>& r) {
  return r ? "value" : std::string(to_string(r.error()));
}

TEST(ask, a_thread_gets_the_result_of_the_handler) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  EXPECT_EQ(*it.ask<add>(patience, 2, 3).get(), 5);
  EXPECT_EQ(it.ask<greet>(patience, "you").get().value(), "hello you");
  EXPECT_EQ(**it.ask<give>(patience, std::make_unique<int>(7)).get(), 7);
  EXPECT_EQ(*it.ask(no_timeout, add{1, 1}).get(), 2);
}

TEST(ask, a_coroutine_gets_the_result_of_the_handler) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<asker_actor>(log);
  who.send(work{[it](asker_actor& me) -> task<> {
    const auto sum = co_await it.ask<add>(patience, 2, 3);
    me.log.write(std::to_string(*sum));
    const auto text = co_await it.ask<greet>(patience, "you");
    me.log.write(*text);
    const auto back = co_await it.ask<give>(patience, std::make_unique<int>(7));
    me.log.write(std::to_string(**back));
  }});
  ASSERT_TRUE(log.wait_for(3));
  EXPECT_THAT(log.lines(), ElementsAre("5", "hello you", "7"));
}

TEST(ask, a_coroutine_that_answers_is_waited_for) {
  journal log;
  troupe::system system;
  const auto slow = system.spawn<asker_actor>(log);
  EXPECT_EQ(*slow.ask<add>(patience, 20, 3).get(), 23);
}

TEST(ask, a_callback_runs_in_the_asking_actor) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<probe>(log);
  who.send(call{[it](probe& me) {
    it.ask<add>(patience, 2, 2).then([&me](ask_result<int> sum) {
      me.me().send(note{"sum " + std::to_string(*sum)});
    });
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("sum 4"));
}

TEST(ask, the_handler_is_told_which_actor_asked) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<oracle>();
  EXPECT_FALSE(*it.ask<who_asks>(patience).get());
  const auto who = system.spawn<asker_actor>(log);
  who.send(work{[it](asker_actor& me) -> task<> {
    const auto known = co_await it.ask<who_asks>(patience);
    me.log.write(*known ? "known" : "unknown");
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("known"));
}

TEST(ask, what_the_handler_throws_fails_it_and_is_told_to_who_asked) {
  recorder told;
  troupe::system system(told.options());
  const auto it = system.spawn<oracle>();
  EXPECT_EQ(it.ask<break_down>(patience).get().error(), ask_error::failed);
  EXPECT_EQ(it.join(), exit_reason::failed);
  EXPECT_EQ(it.ask<add>(patience, 1, 2).get().error(), ask_error::failed);
}

TEST(ask, one_that_has_stopped_says_so) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  it.stop();
  it.join();
  EXPECT_EQ(it.ask<add>(patience, 1, 2).get().error(), ask_error::stopped);
}

TEST(ask, a_question_left_in_the_mailbox_is_answered_by_the_end) {
  stage on;
  const auto it = on.spawn<oracle>();
  auto first = it.ask<add>(patience, 1, 2);
  it.stop_now();
  EXPECT_EQ(first.get().error(), ask_error::stopped);
}

TEST(ask, a_full_mailbox_refuses) {
  stage on;
  const auto it = on.spawn<oracle>({.max_messages = 1, .when_full = overload::refuse});
  auto first = it.ask<add>(patience, 1, 2);
  auto second = it.ask<add>(patience, 1, 2);
  EXPECT_EQ(second.get().error(), ask_error::refused);
  EXPECT_EQ(*first.get(), 3);
}

/// Understands what its stand-ins do.
class desk : public actor {
 public:
  using messages = troupe::messages<add, who_asks>;
  int on(add m) { return m.a + m.b; }
  bool on(who_asks) { return true; }
};
class stand_in : public actor {
 public:
  int on(add m) { return 100 * (m.a + m.b); }
  std::string on(who_asks) { return "otherwise"; }
};

TEST(ask, a_question_that_is_redirected_is_answered_there) {
  stage on;
  const auto target = on.spawn<stand_in>();
  const auto it =
      on.spawn<desk>({.max_messages = 1, .when_full = overload::redirect_to<desk>(target)});
  auto first = it.ask<add>(patience, 1, 2);
  auto second = it.ask<add>(patience, 1, 2);
  auto third = it.ask<who_asks>(patience);
  EXPECT_EQ(third.get().error(), ask_error::refused);
  EXPECT_EQ(*second.get(), 300);
  EXPECT_EQ(*first.get(), 3);
}

TEST(ask, no_answer_in_time_is_a_timeout_and_a_late_one_reaches_nobody) {
  stage on;
  const auto it = on.spawn<oracle>();
  std::thread([&] { EXPECT_EQ(it.ask<add>(5ms, 1, 2).get().error(), ask_error::timeout); }).join();
  on.play();
  EXPECT_EQ(on.system.statistics().answers_late, 1u);
}

TEST(ask, a_late_answer_does_not_reach_the_next_question_of_a_coroutine) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(work{[it](asker_actor& me) -> task<> {
    const auto first = co_await it.ask<add>(2ms, 1, 2);
    me.log.write(text(first));
    const auto second = co_await it.ask<add>(patience, 20, 2);
    me.log.write(std::to_string(*second));
  }});
  ASSERT_TRUE(log.wait_for(1));
  ASSERT_TRUE(eventually([&] {
    on.play();
    return log.lines().size() == 2;
  }));
  EXPECT_THAT(log.lines(), ElementsAre("timeout", "22"));
  EXPECT_EQ(on.system.statistics().answers_late, 1u);
}

TEST(ask, questions_are_on_their_way_together) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<asker_actor>(log);
  who.send(work{[it](asker_actor& me) -> task<> {
    auto later = it.ask<answer_later>(patience);
    auto sum = it.ask<add>(patience, 1, 2);
    me.log.write(std::to_string(*co_await std::move(sum)));
    it.send(answer_now{9});
    me.log.write(std::to_string(*co_await std::move(later)));
  }});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_THAT(log.lines(), ElementsAre("3", "9"));
}

TEST(reply, is_fulfilled_later) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  auto asked = it.ask<answer_later>(patience);
  it.send(answer_now{5});
  EXPECT_EQ(*asked.get(), 5);
}

TEST(reply, one_that_is_let_go_of_tells_who_asked) {
  troupe::system system;
  auto it = system.spawn<oracle>();
  auto asked = it.ask<answer_later>(patience);
  it = {};
  EXPECT_EQ(asked.get().error(), ask_error::unanswered);
}

TEST(reply, of_a_message_that_was_only_sent_is_empty) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  it.send(answer_later{});
  it.send(answer_now{1});
  EXPECT_EQ(*it.ask<add>(patience, 1, 1).get(), 2);
}

struct pass {};
class middle : public actor {
 public:
  explicit middle(ref<oracle> to) : to_(std::move(to)) {}
  void on(pass, reply<int> owed) { to_.pass_on<add>(std::move(owed), 40, 2); }

 private:
  const ref<oracle> to_;
};

TEST(reply, passed_on_is_answered_by_the_other) {
  troupe::system system;
  const auto it = system.spawn<middle>(system.spawn<oracle>());
  EXPECT_EQ(*it.ask<pass>(patience).get(), 42);
}

TEST(ask, an_actor_that_only_waits_for_an_answer_stays_and_then_ends) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  on.system.spawn<asker_actor>(log).send(work{[it](asker_actor& me) -> task<> {
    const auto sum = co_await it.ask<add>(patience, 1, 2);
    me.log.write(text(sum));
  }});
  ASSERT_TRUE(eventually([&] {
    on.play();
    return log.lines().size() == 2;
  }));
  EXPECT_THAT(log.lines(), ElementsAre("value", "destroyed"));
}

TEST(ask, an_actor_that_is_stopped_waits_no_more) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(work{[it](asker_actor& me) -> task<> {
    auto sum = it.ask<add>(patience, 1, 2);
    me.log.write("asked");
    (void)co_await std::move(sum);
    me.log.write("never");
  }});
  ASSERT_TRUE(log.wait_for(1));
  who.stop();
  EXPECT_EQ(who.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("asked", "destroyed"));
  on.play();
}

TEST(ask, get_in_a_handler_waits_and_the_asked_runs_elsewhere) {
  journal log;
  troupe::system system({.workers = 2});
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<probe>(log);
  who.send(call{[&](probe&) { log.write(std::to_string(*it.ask<add>(patience, 1, 2).get())); }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("3"));
}

class self_asker : public actor {
 public:
  explicit self_asker(journal& log) : log_(log) {}
  int on(add) {
    try {
      (void)self(this).ask<who_asks>(patience).get();
    } catch (const std::logic_error& e) {
      log_.write(e.what());
    }
    return 1;
  }
  bool on(who_asks) { return true; }

 private:
  journal& log_;
};

TEST(ask, get_on_oneself_is_an_error) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<self_asker>(log);
  EXPECT_EQ(*it.ask<add>(patience, 1, 2).get(), 1);
  EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("would wait for itself")));
}

TEST(ask, on_the_thread_of_a_pump_get_pumps) {
  stage on;
  const auto it = on.spawn<oracle>();
  EXPECT_EQ(*it.ask<add>(patience, 1, 2).get(), 3);
}

// A question that is decided before it is awaited, or continued, leaves nothing behind in its actor.
TEST(ask, what_has_been_waited_for_can_be_continued) {
  journal log;
  stage on;
  const auto it = on.system.spawn<oracle>();
  const auto never = on.spawn<oracle>();
  const auto who = on.system.spawn<probe>({.where = own_thread}, log);
  who.send(call{[&](probe& me) {
    auto answered = it.ask<add>(patience, 1, 2);
    EXPECT_TRUE(answered.wait_for(patience));
    auto late = never.ask<add>(1ms, 1, 2);
    EXPECT_TRUE(late.wait_for(patience));
    std::move(answered).then(
        [&me](ask_result<int> got) { me.me().send(note{"then " + text(got)}); });
    std::move(late).then([&me](ask_result<int> got) { me.me().send(note{"then " + text(got)}); });
    log.write("not yet");
  }});
  ASSERT_TRUE(log.wait_for(3));
  EXPECT_THAT(log.lines(), ElementsAre("not yet", "then value", "then timeout"));
}

TEST(ask, a_question_outlives_the_pump_that_was_there_when_it_was_asked) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  std::optional<asking<int>> question;
  {
    const pump here(system);
    question.emplace(it.ask<answer_later>(patience));
  }
  it.send(answer_now{4});
  EXPECT_EQ(*question->get(), 4);
}

TEST(ask, asked_on_the_thread_of_a_pump_it_is_waited_for_in_a_handler_there) {
  journal log;
  stage on;
  const auto it = on.system.spawn<oracle>();
  auto question = it.ask<answer_later>(no_timeout);
  const auto who = on.spawn<probe>(log);
  who.send(call{[&](probe&) {
    it.send(answer_now{4});
    log.write(std::to_string(*question.get()));
  }});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("4"));
}

TEST(ask, asked_in_a_handler_it_is_waited_for_on_the_thread_of_the_pump) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  std::optional<asking<int>> question;
  const auto who = on.spawn<probe>(log);
  who.send(call{[&](probe&) {
    question.emplace(it.ask<add>(patience, 1, 2));
    EXPECT_THROW((void)question->wait_for(1ms), std::logic_error);
  }});
  on.pump.drain();
  EXPECT_EQ(*question->get(), 3);
}

TEST(ask, a_callback_of_an_actor_that_stops_is_let_go_of) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<oracle>();
  const auto held = std::make_shared<int>(1);
  const auto who =
      system.spawn<probe>(log, steps{.at_stop = [&](probe&) {
                            it.ask<add>(patience, 1, 2).then([held](ask_result<int>) {});
                          }});
  who.stop();
  who.join();
  EXPECT_TRUE(eventually([&] { return held.use_count() == 1; }));
}

TEST(ask, a_refusal_is_a_callback_too) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<oracle>();
  it.stop();
  it.join();
  const auto who = system.spawn<probe>(log);
  who.send(call{[&](probe& me) {
    it.ask<add>(patience, 1, 2).then([&me, &log](ask_result<int> got) {
      log.write(text(got));
      me.stop();
    });
    log.write("asked");
  }});
  who.join();
  EXPECT_THAT(log.lines(), ElementsAre("asked", "stopped", "destroyed"));
}

TEST(ask, get_on_the_only_worker_is_an_error) {
  journal log;
  troupe::system system({.workers = 1});
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<probe>(log);
  who.send(call{[&](probe&) {
    try {
      (void)it.ask<add>(no_timeout, 1, 2).get();
    } catch (const std::logic_error& e) {
      log.write(e.what());
    }
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines().front(), HasSubstr("whose only thread it holds"));
}

// ── Several questions ─────────────────────────────────────────────────────────────────────────

TEST(all, gives_each_answer_in_the_order_of_the_questions) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<asker_actor>(log);
  who.send(work{[it](asker_actor& me) -> task<> {
    auto [sum, text] = co_await all(patience, it.ask<add>(no_timeout, 1, 2),
                                    it.ask<greet>(no_timeout, std::string("all")));
    me.log.write(std::to_string(*sum) + ' ' + *text);
    std::vector<asking<int>> many;
    for (int i = 0; i < 3; ++i) many.push_back(it.ask<add>(no_timeout, i, i));
    const auto sums = co_await all(patience, std::move(many));
    me.log.write(std::to_string(*sums[0] + *sums[1] + *sums[2]));
  }});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_THAT(log.lines(), ElementsAre("3 hello all", "6"));
}

TEST(all, has_one_deadline) {
  journal log;
  stage on;
  const auto fast = on.system.spawn<oracle>();
  const auto never = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(work{[fast, never](asker_actor& me) -> task<> {
    auto [one, other] =
        co_await all(3ms, never.ask<add>(no_timeout, 1, 2), fast.ask<add>(no_timeout, 1, 2));
    me.log.write(text(one) + ' ' + text(other));
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("timeout value"));
}

TEST(any, is_the_first_one_that_is_answered) {
  journal log;
  recorder told;
  stage on;
  troupe::system other(told.options());
  const auto fast = on.system.spawn<oracle>();
  const auto never = on.spawn<oracle>();
  const auto broken = other.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(work{[fast, never, broken](asker_actor& me) -> task<> {
    const auto first =
        co_await any(patience, broken.ask<break_down>(no_timeout), never.ask<add>(no_timeout, 1, 2),
                     fast.ask<add>(no_timeout, 3, 4));
    me.log.write(std::to_string(first.which) + ": " + std::to_string(*first.result));
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("2: 7"));
}

TEST(any, goes_on_once_after_an_exclusive_handler) {
  journal log;
  stage on;
  const auto never = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(work{[never](asker_actor& me) -> task<> {
    const auto first =
        co_await any(1ms, never.ask<add>(no_timeout, 1, 2), never.ask<add>(no_timeout, 1, 2));
    me.log.write(text(first.result));
  }});
  who.send(exclusive_work{[](asker_actor& me) -> task<> {
    co_await sleep_for(5ms);
    me.log.write("exclusive");
  }});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_THAT(log.lines(), ElementsAre("exclusive", "timeout"));
}

TEST(any, is_an_error_if_none_is_answered) {
  journal log;
  stage on;
  const auto never = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(work{[never](asker_actor& me) -> task<> {
    const auto first =
        co_await any(2ms, never.ask<add>(no_timeout, 1, 2), never.ask<add>(no_timeout, 1, 2));
    me.log.write(text(first.result));
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("timeout"));
}

// ── Exclusive handlers ────────────────────────────────────────────────────────────────────────

TEST(exclusive_task, nothing_else_is_handled_while_it_waits) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(exclusive_work{[it](asker_actor& me) -> task<> {
    me.log.write("begins");
    (void)co_await it.ask<add>(patience, 1, 2);
    me.log.write("goes on");
    (void)co_await it.ask<add>(patience, 1, 2);
    me.log.write("ends");
  }});
  who.send(note{"first"});
  who.send(note{"second"});
  ASSERT_TRUE(log.wait_for(1));
  who.send(note{"third"});
  ASSERT_TRUE(eventually([&] {
    on.play();
    return log.lines().size() == 6;
  }));
  EXPECT_THAT(log.lines(), ElementsAre("begins", "goes on", "ends", "first", "second", "third"));
}

TEST(exclusive_task, other_handlers_that_could_go_on_wait_for_it) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(work{[](asker_actor& me) -> task<> {
    me.log.write("sleeps");
    co_await sleep_for(1ms);
    me.log.write("slept");
  }});
  who.send(exclusive_work{[it](asker_actor& me) -> task<> {
    me.log.write("begins");
    co_await sleep_for(5ms);
    me.log.write("ends");
  }});
  ASSERT_TRUE(log.wait_for(4));
  EXPECT_THAT(log.lines(), ElementsAre("sleeps", "begins", "ends", "slept"));
}

TEST(exclusive_task, a_stop_waits_for_it_and_stop_now_does_not) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  const auto forever = [it](asker_actor& me) -> task<> {
    me.log.write("begins");
    (void)co_await it.ask<add>(no_timeout, 1, 2);
    me.log.write("ends");
  };
  who.send(exclusive_work{forever});
  ASSERT_TRUE(log.wait_for(1));
  who.stop();
  EXPECT_FALSE(who.join_for(2ms));
  who.stop_now();
  EXPECT_EQ(who.join(), exit_reason::stopped_now);
  EXPECT_THAT(log.lines(), ElementsAre("begins", "destroyed"));
}

struct fill_up {};
class selfish : public actor {
 public:
  explicit selfish(journal& log) : log_(log) {}
  exclusive_task<> on(fill_up) {
    for (int i = 0; i < 4; ++i) (void)co_await self(this).send_when_ready<note>("self");
    log_.write("over");
  }
  void on(const note& n) { log_.write(n.text); }

 private:
  journal& log_;
};

TEST(exclusive_task, does_not_wait_for_room_in_its_own_mailbox) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<selfish>({.max_messages = 1}, log);
  it.send(fill_up{});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_EQ(log.lines().front(), "over");
}

TEST(exclusive_task, that_waits_is_in_the_report_of_a_shutdown) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  const auto who = on.system.spawn<asker_actor>(log);
  who.send(exclusive_work{[it](asker_actor& me) -> task<> {
    me.log.write("begins");
    (void)co_await it.ask<add>(no_timeout, 1, 2);
  }});
  ASSERT_TRUE(log.wait_for(1));
  std::thread([&] {
    EXPECT_TRUE(eventually([&] {
      for (const auto& each : on.system.shutdown(1ms).stragglers) {
        if (each.who == address(who)) return each.doing.find("exclusive_work") != std::string::npos;
      }
      return false;
    }));
  }).join();
}

struct start_circle {
  ref<class circular> other;
};
class circular : public actor {
 public:
  explicit circular(journal& log) : log_(log) {}
  exclusive_task<int> on(start_circle m) {
    auto got = co_await m.other.ask<start_circle>(20ms, ref<circular>(self(this)));
    if (!got) log_.write(got.why());
    co_return 1;
  }

 private:
  journal& log_;
};

TEST(exclusive_task, a_timeout_names_the_circle) {
  journal log;
  troupe::system system;
  const auto clerk = system.spawn<circular>({.name = "clerk"}, log);
  const auto teller = system.spawn<circular>({.name = "teller"}, log);
  (void)clerk.ask<start_circle>(patience, teller).get();
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines().front(),
              ::testing::AnyOf("timeout: teller waits for clerk, which waits for teller",
                               "timeout: clerk waits for teller, which waits for clerk"));
}

// ── Tasks ─────────────────────────────────────────────────────────────────────────────────────

task<int> count_down(int from, ref<oracle> it) {
  if (from == 0) co_return 0;
  const auto one = co_await it.ask<add>(patience, 0, 1);
  co_return *one + co_await count_down(from - 1, it);
}
task<int> throws(ref<oracle> it) {
  (void)co_await it.ask<add>(patience, 0, 1);
  throw std::runtime_error("deep");
}

TEST(task, awaits_other_tasks) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<asker_actor>(log);
  who.send(work{[it](asker_actor& me) -> task<> {
    me.log.write(std::to_string(co_await count_down(5, it)));
    try {
      (void)co_await throws(it);
    } catch (const std::runtime_error& e) {
      me.log.write(e.what());
    }
  }});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_THAT(log.lines(), ElementsAre("5", "deep"));
}

task<int> at_once(int n) { co_return n; }

TEST(task, a_million_in_a_row_that_never_wait_do_not_use_up_the_stack) {
  journal log;
  troupe::system system;
  const auto who = system.spawn<asker_actor>(log);
  who.send(work{[](asker_actor& me) -> task<> {
    int sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum += co_await at_once(1);
    me.log.write(std::to_string(sum));
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("1000000"));
}

TEST(sleep, goes_on_after_the_time_and_not_before) {
  journal log;
  troupe::system system;
  const auto who = system.spawn<asker_actor>(log);
  const time_point began = clock::now();
  who.send(work{[began](asker_actor& me) -> task<> {
    co_await sleep_for(3ms);
    me.log.write(clock::now() >= began + 3ms ? "not early" : "early");
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("not early"));
}

}  // namespace
}  // namespace troupe::test
