// SPDX-License-Identifier: Apache-2.0
// Requests and their replies: which requester gets which reply, and the errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "ask_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(ask, the_reply_of_a_coroutine_handler_is_waited_for) {
  journal log;
  troupe::system system;
  const auto slow = system.spawn<asker_actor>(log);
  EXPECT_EQ(*slow.ask<add>(patience, 20, 3).get(), 23);
}

TEST(ask, a_callback_runs_in_the_asking_actor) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<probe>({.where = own_thread}, log);
  who.send(call{[it](probe& me) {
    it.ask<add>(patience, 2, 2).then([&me, here = std::this_thread::get_id()](ask_result<int> sum) {
      const bool same = std::this_thread::get_id() == here;
      me.me().send(note{(same ? "here: " : "elsewhere: ") + std::to_string(*sum)});
    });
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("here: 4"));
}

TEST(ask, the_handler_can_identify_the_asking_actor) {
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

TEST(ask, an_exception_in_the_handler_fails_its_actor_and_the_request) {
  recorder told;
  troupe::system system(told.options());
  const auto it = system.spawn<oracle>();
  EXPECT_EQ(it.ask<break_down>(patience).get().error(), ask_error::failed);
  EXPECT_EQ(it.join(), exit_reason::failed);
  EXPECT_EQ(it.ask<add>(patience, 1, 2).get().error(), ask_error::failed);
}

// Moved once on its way out of the handler, and once into the block, where it throws.
struct brittle {
  explicit brittle(int moves) : moves_left(moves) {}
  brittle(brittle&& other) : moves_left(other.moves_left - 1) {
    if (moves_left == 0) throw std::runtime_error("an answer that cannot be moved");
  }
  int moves_left;
};
struct break_answer {};
struct break_answer_to {
  std::shared_ptr<int> kept;
};

class brittle_oracle : public actor {
 public:
  brittle on(break_answer) { return brittle(1); }
  brittle on(const break_answer_to&) { return brittle(1); }
};

TEST(ask, a_reply_whose_move_throws_fails_its_actor_and_the_request) {
  recorder told;
  troupe::system system(told.options());
  const auto one = system.spawn<brittle_oracle>();
  EXPECT_EQ(one.ask<break_answer>(patience).get().error(), ask_error::failed);
  EXPECT_EQ(one.join(), exit_reason::failed);
  const auto other = system.spawn<brittle_oracle>();
  const auto part = std::make_shared<int>(1);
  EXPECT_EQ(other.ask<break_answer_to>(patience, part).get().error(), ask_error::failed);
  EXPECT_EQ(other.join(), exit_reason::failed);
  EXPECT_EQ(part.use_count(), 1) << "the question is gone, once";
}

TEST(ask, a_request_to_a_stopped_actor_returns_stopped) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  it.stop();
  it.join();
  EXPECT_EQ(it.ask<add>(patience, 1, 2).get().error(), ask_error::stopped);
}

TEST(ask, a_request_left_in_the_mailbox_at_termination_returns_stopped) {
  stage on;
  const auto it = on.spawn<oracle>();
  auto first = it.ask<add>(patience, 1, 2);
  it.stop_now();
  EXPECT_EQ(first.get().error(), ask_error::stopped);
}

TEST(ask, a_full_mailbox_refuses) {
  stage on;
  const auto it = on.spawn<oracle>({.max_messages = 1, .on_full = overflow::refuse});
  auto first = it.ask<add>(patience, 1, 2);
  auto second = it.ask<add>(patience, 1, 2);
  EXPECT_EQ(second.get().error(), ask_error::refused);
  EXPECT_EQ(*first.get(), 3);
}

/// Understands the messages of its stand-ins.
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

TEST(ask, a_redirected_request_gets_the_reply_of_its_new_receiver) {
  stage on;
  const auto target = on.spawn<stand_in>();
  const auto it =
      on.spawn<desk>({.max_messages = 1, .on_full = overflow::redirect_to<desk>(target)});
  auto first = it.ask<add>(patience, 1, 2);
  auto second = it.ask<add>(patience, 1, 2);
  auto third = it.ask<who_asks>(patience);
  EXPECT_EQ(third.get().error(), ask_error::refused);
  EXPECT_EQ(*second.get(), 300);
  EXPECT_EQ(*first.get(), 3);
}

TEST(ask, a_reply_after_the_timeout_is_discarded_and_counted_as_late) {
  stage on;
  const auto it = on.spawn<oracle>();
  std::thread([&] { EXPECT_EQ(it.ask<add>(5ms, 1, 2).get().error(), ask_error::timeout); }).join();
  on.play();
  EXPECT_EQ(on.system.statistics().answers_late, 1u);
}

TEST(ask, a_timeout_after_many_frequent_requests_is_never_early) {
  talk on;
  on.begin([&on](asker_actor& me) -> task<> {
    for (int i = 0; i < 1'000; ++i) (void)co_await on.it.ask<add>(120ms, i, 1);
    const time_point began = clock::now();
    const auto got = co_await on.silent.ask<add>(120ms, 1, 2);
    const auto late = clock::now() - began - 120ms;
    me.log.write(text(got));
    me.log.write(late < 0ms ? "too early" : "not too early");
    // And again, now that the hurried mode is over.
    me.log.write(text(co_await on.silent.ask<add>(5ms, 1, 2)));
  });
  ASSERT_TRUE(on.log.wait_for(3));
  EXPECT_THAT(on.log.lines(), ElementsAre("timeout", "not too early", "timeout"));
}

TEST(ask, with_deadline_applies_after_many_frequent_requests) {
  talk on;
  on.begin([&on](asker_actor& me) -> task<> {
    for (int i = 0; i < 1'000; ++i) (void)co_await on.it.ask<add>(10s, i, 1);
    auto question = on.silent.ask<add>(10s, 1, 2);
    question.with_deadline(clock::now() + 5ms);
    me.log.write(text(co_await std::move(question)));
  });
  ASSERT_TRUE(on.log.wait_for(1));
  EXPECT_THAT(on.log.lines(), ElementsAre("timeout"));
}

TEST(ask, a_late_reply_does_not_reach_the_next_request_of_a_coroutine) {
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

TEST(reply, of_an_unreachable_actor_is_stopped) {
  troupe::system system;
  auto it = system.spawn<oracle>();
  auto asked = it.ask<answer_later>(patience);
  it = {};
  EXPECT_EQ(asked.get().error(), ask_error::stopped);
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

TEST(reply, passed_on_to_another_actor_is_sent_by_that_actor) {
  troupe::system system;
  const auto it = system.spawn<middle>(system.spawn<oracle>());
  EXPECT_EQ(*it.ask<pass>(patience).get(), 42);
}

TEST(ask, an_actor_that_only_waits_for_a_reply_stays_alive_until_it_comes) {
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
  EXPECT_EQ(on.system.statistics().messages_waiting, 0u) << "the question has been handled";
  EXPECT_EQ(log.lines().size(), 2u) << "and its answer found nobody";
}

TEST(ask, get_in_a_handler_waits_while_another_thread_runs_the_responder) {
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

// A request that is decided before it is awaited, or continued, leaves nothing behind in its actor.
TEST(ask, then_may_follow_a_wait_for_the_same_request) {
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

TEST(ask, a_request_outlives_the_pump_that_existed_when_it_was_sent) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  std::optional<ask_future<int>> question;
  {
    const pump here(system);
    question.emplace(it.ask<answer_later>(patience));
  }
  it.send(answer_now{4});
  EXPECT_EQ(*question->get(), 4);
}

TEST(ask, a_handler_can_wait_for_a_request_sent_by_the_thread_of_its_pump) {
  journal log;
  stage on;
  const auto it = on.system.spawn<oracle>();
  auto question = it.ask<answer_later>(patience);
  const auto who = on.spawn<probe>(log);
  who.send(call{[&](probe&) {
    it.send(answer_now{4});
    log.write(std::to_string(*question.get()));
  }});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("4"));
}

TEST(ask, the_thread_of_a_pump_can_wait_for_a_request_sent_in_a_handler) {
  journal log;
  stage on;
  const auto it = on.spawn<oracle>();
  std::optional<ask_future<int>> question;
  const auto who = on.spawn<probe>(log);
  who.send(call{[&](probe&) {
    question.emplace(it.ask<add>(patience, 1, 2));
    EXPECT_THROW((void)question->wait_for(1ms), std::logic_error);
  }});
  on.pump.drain();
  EXPECT_EQ(*question->get(), 3);
}

TEST(ask, a_callback_of_a_stopping_actor_is_destroyed) {
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

TEST(ask, get_on_the_only_worker_gets_its_reply_from_another_thread) {
  journal log;
  troupe::system system({.workers = 1, .blocking_threshold = 0s});
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<probe>(log);
  who.send(call{[&](probe&) { log.write(text(it.ask<add>(patience, 1, 2).get())); }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("value"));
}

TEST(ask, get_on_the_only_thread_that_the_pool_may_have_is_an_error) {
  journal log;
  troupe::system system({.workers = 1, .max_threads = 1});
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<probe>(log);
  who.send(call{[&](probe&) {
    try {
      (void)it.ask<add>(patience, 1, 2).get();
    } catch (const std::logic_error& e) {
      log.write(e.what());
    }
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines().front(), HasSubstr("max_threads is reached: use co_await or then()"));
}

}  // namespace
}  // namespace troupe::test
