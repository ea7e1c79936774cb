// SPDX-License-Identifier: Apache-2.0
// Handlers during which their actor does nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/ask_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

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

TEST(exclusive_task, delays_other_suspended_handlers_until_it_finishes) {
  journal log;
  stage on;
  const auto other = on.spawn<oracle>();
  const auto gate = on.spawn<oracle>();
  const auto who = on.spawn<asker_actor>(log);
  who.send(work{[other](asker_actor& me) -> task<> {
    me.log.write("asks");
    (void)co_await other.ask<add>(patience, 1, 2);
    me.log.write("is answered");
  }});
  who.send(exclusive_work{[gate](asker_actor& me) -> task<> {
    me.log.write("begins");
    (void)co_await gate.ask<answer_later>(patience);
    me.log.write("ends");
  }});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("asks", "begins"));
  gate.send(answer_now{0});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("asks", "begins", "ends", "is answered"));
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
    for (int i = 0; i < 4; ++i) (void)co_await self(this).async_send<note>("self");
    log_.write("over");
  }
  void on(const note& n) { log_.write(n.text); }

 private:
  journal& log_;
};

TEST(exclusive_task, does_not_wait_for_space_in_the_mailbox_of_its_own_actor) {
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

// ── Many messages that wait ───────────────────────────────────────────────────────────────────

/// A message for which the handler waits. It counts how often the runtime looks at its size: a look
/// comes with each examination of a waiting message.
struct errand {
  int number = 0;
  std::size_t* looks = nullptr;
  [[nodiscard]] std::size_t owned_bytes() const noexcept {
    if (looks != nullptr) ++*looks;
    return 0;
  }
};
struct letter {
  int number;
};
struct alarm {
  static constexpr auto priority = troupe::priority::high;
  int number;
};

/// Waits for a reply in each errand; takes letters in batches.
class clerk : public actor {
 public:
  clerk(journal& log, ref<oracle> other) : log_(log), other_(std::move(other)) {}
  exclusive_task<> on(errand e) {
    log_.write("begins " + std::to_string(e.number));
    (void)co_await other_.ask<answer_later>(no_timeout);
    log_.write("ends " + std::to_string(e.number));
  }
  void on(std::span<const letter> batch) {
    std::string line = "letters";
    for (const letter& each : batch) line += ' ' + std::to_string(each.number);
    log_.write(std::move(line));
  }
  void on(alarm a) { log_.write("alarm " + std::to_string(a.number)); }

 private:
  journal& log_;
  const ref<oracle> other_;
};

struct office {
  explicit office(spawn_options options = {}) : desk(on.spawn<clerk>(options, log, other)) {
    on.play();
  }
  // Lets the errand that waits continue.
  void reply() {
    other.send(answer_now{0});
    on.play();
  }

  journal log;
  stage on;
  ref<oracle> other = on.spawn<oracle>();
  ref<clerk> desk;
};

TEST(exclusive_tasks_in_sequence, examine_each_waiting_message_only_once) {
  constexpr int errands = 400;
  office in({.max_messages = 2 * errands});
  std::size_t looks = 0;
  for (int i = 0; i < errands; ++i) in.desk.send(errand{i, &looks});
  in.on.play();
  for (int i = 0; i < errands; ++i) in.reply();
  EXPECT_EQ(in.log.lines().size(), 2u * errands);
  // When it is sent, stashed and handled.
  EXPECT_LE(looks, 6u * errands);
}

TEST(exclusive_tasks_in_sequence, keep_the_order_of_what_was_sent_before_and_meanwhile) {
  office in;
  in.desk.send(errand{1});
  in.desk.send(letter{2});
  in.desk.send(letter{3});
  in.desk.send(errand{4});
  in.desk.send(errand{5});
  in.desk.send(letter{6});
  in.on.play();
  in.desk.send(letter{7});
  in.desk.send(errand{8});
  in.reply();  // of 1
  in.desk.send(letter{9});
  in.reply();  // of 4
  in.desk.send(letter{10});
  in.desk.send(errand{11});
  in.reply();  // of 5
  in.reply();  // of 8
  in.reply();  // of 11
  EXPECT_THAT(in.log.lines(), ElementsAre("begins 1", "ends 1", "letters 2 3", "begins 4", "ends 4",
                                          "begins 5", "ends 5", "letters 6 7", "begins 8", "ends 8",
                                          "letters 9 10", "begins 11", "ends 11"));
}

TEST(exclusive_tasks_in_sequence, count_stashed_messages_exactly_within_the_limit) {
  office in({.max_messages = 4, .on_full = overflow::refuse});
  const auto accepted = [&](int number) {
    return in.desk.send(errand{number}) == delivery::accepted;
  };
  EXPECT_TRUE(accepted(1));
  in.on.play();
  for (int i = 2; i <= 5; ++i) EXPECT_TRUE(accepted(i));
  EXPECT_FALSE(accepted(0));
  for (int i = 6; i <= 20; ++i) {
    in.on.play();
    EXPECT_FALSE(accepted(0)) << i;
    in.reply();  // the next one is handled, and waits
    EXPECT_TRUE(accepted(i)) << i;
    EXPECT_FALSE(accepted(0)) << i;
  }
  for (int i = 0; i < 6; ++i) in.reply();
  // All are handled: there is exactly as much room as at the start.
  EXPECT_TRUE(accepted(21));
  in.on.play();
  for (int i = 22; i <= 25; ++i) EXPECT_TRUE(accepted(i));
  EXPECT_FALSE(accepted(0));
}

// Messages that were stashed for one of them are sorted if high-priority messages come between two.
TEST(exclusive_tasks_in_sequence, let_high_priority_messages_pass_between_them) {
  office in;
  for (int i = 1; i <= 4; ++i) in.desk.send(errand{i});
  in.desk.send(letter{5});
  in.on.play();
  in.desk.send(alarm{1});
  in.reply();
  in.reply();
  in.desk.send(alarm{2});
  in.reply();
  in.desk.send(alarm{3});
  in.reply();
  const std::vector<std::string> lines = in.log.lines();
  std::vector<std::string> normal;
  std::vector<std::string> high;
  for (const std::string& each : lines) (each.starts_with("alarm") ? high : normal).push_back(each);
  EXPECT_THAT(high, ElementsAre("alarm 1", "alarm 2", "alarm 3"));
  EXPECT_THAT(normal, ElementsAre("begins 1", "ends 1", "begins 2", "ends 2", "begins 3", "ends 3",
                                  "begins 4", "ends 4", "letters 5"));
}

TEST(exclusive_tasks_in_sequence, end_with_messages_that_were_examined_and_not_handled) {
  journal ends;
  office in;
  for (int i = 1; i <= 6; ++i) in.desk.send(errand{i});
  in.on.play();
  in.reply();  // 2 waits; 3 to 6 were examined twice
  in.desk.stop_now();
  in.on.play();
  EXPECT_EQ(in.desk.join(), exit_reason::stopped_now);
  EXPECT_THAT(in.log.lines(), ElementsAre("begins 1", "ends 1", "begins 2"));
  EXPECT_EQ(in.on.told.dead_letters().size(), 4u);
}

}  // namespace
}  // namespace troupe::test
