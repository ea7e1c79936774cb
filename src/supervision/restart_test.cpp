// SPDX-License-Identifier: Apache-2.0
// What goes with an object that is replaced, and what stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <troupe/supervision/names.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "supervision_test_support.hpp"

namespace troupe::test {

struct begin_waiting {};
struct begin_exclusive {};
struct late_question {};
struct job {
  int number;
};
struct slow_job {
  int number;
};
struct urgent {
  static constexpr auto priority = troupe::priority::high;
};

// Answers when the test says so.
class oracle : public actor {
 public:
  void on(late_question, reply<int> to) { owed_ = std::move(to); }
  void on(job m) { std::exchange(owed_, {}).fulfil(m.number); }

 private:
  reply<int> owed_;
};

struct patient_script : script {
  using script::script;
  ref<oracle> asked;
  atomic<int> waiting{0};
};

// Waits for things, in handlers that note when they are destroyed.
class patient : public pupil {
 public:
  explicit patient(patient_script& does) : pupil(does), does_(does) {}

  using pupil::on;
  task<> on(begin_waiting) {
    const guard here(does_);
    auto answer = co_await does_.asked.ask<late_question>(patience);
    does_.write("answer " + std::to_string(answer.value()));
  }
  exclusive_task<> on(begin_exclusive) {
    const guard here(does_);
    (void)co_await does_.asked.ask<late_question>(patience);
  }
  task<int> on(late_question) {
    const guard here(does_);
    co_return (co_await does_.asked.ask<late_question>(patience)).value();
  }

 private:
  struct guard {
    explicit guard(patient_script& does) : of(does) { ++of.waiting; }
    ~guard() { --of.waiting; }
    patient_script& of;
  };
  patient_script& does_;
};

// Fails at some of its jobs.
class retrying : public actor {
 public:
  using redelivered = troupe::messages<job>;
  explicit retrying(script& does, std::function<void(int)> at) : does_(does), at_(std::move(at)) {
    ++does.objects;
  }
  void on(job m) {
    does_.write("job " + std::to_string(m.number));
    at_(m.number);
    does_.write("done " + std::to_string(m.number));
  }
  void on(slow_job m) { at_(m.number); }
  void on(urgent) { does_.write("urgent"); }

 private:
  script& does_;
  const std::function<void(int)> at_;
};

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr supervision at_once{.most = supervision::unlimited, .first = 0ms, .longest = 0ms};

template <class A, class Script>
struct clinic_scripts {
  Script does{"a"};
  script other{"b"};
  journal log;
};

// One child, on the test's thread.
template <class A, class Script = script>
struct clinic : clinic_scripts<A, Script>, stage {
  template <class... More>
  void open(const More&... more) {
    open_spec(child<A>("a", std::ref(this->does), more...).spawned({.where = bound_to(pump)}));
  }
  void open_spec(const child_spec& spec) {
    head = spawn<supervisor>(at_once, spec);
    play();
    auto found = head.template ask<find_child<A>>(patience, "a");
    play();
    it = std::move(found).get().value();
  }
  template <class Message>
  void tell(Message message) {
    it.send(std::move(message));
    play();
  }
  void let_it(std::function<void(pupil&)> what) { tell(std::move(what)); }

  ref<supervisor> head;
  ref<A> it;
};

// ── Handlers, questions, timers, watches ──────────────────────────────────────────────────────

TEST(restart, destroys_handlers_that_wait) {
  clinic<patient, patient_script> on;
  on.does.asked = on.spawn<oracle>();
  on.open();
  on.tell(begin_waiting{});
  ASSERT_EQ(on.does.waiting, 1);
  on.tell(fail{"why not"});
  EXPECT_EQ(on.does.waiting, 0);
  on.does.asked = {};
}

TEST(restart, an_answer_to_the_object_before_is_late) {
  clinic<patient, patient_script> on;
  const auto asked = on.does.asked = on.spawn<oracle>();
  on.open();
  on.tell(begin_waiting{});
  on.tell(fail{"why not"});
  on.tell(begin_waiting{});
  // The first question's reply is gone with the second question; this answers the second one.
  asked.send(job{7});
  on.play();
  EXPECT_EQ(on.does.log.lines().back(), "answer 7");
  on.does.asked = {};
}

TEST(restart, late_answers_are_counted_and_reach_nobody) {
  clinic<patient, patient_script> on;
  const auto asked = on.does.asked = on.spawn<oracle>();
  on.open();
  on.tell(begin_waiting{});
  on.tell(fail{"why not"});
  asked.send(job{7});
  on.play();
  EXPECT_EQ(on.system.statistics().answers_late, 1u);
  EXPECT_EQ(on.does.log.lines().back(), "started");
  on.does.asked = {};
}

TEST(restart, who_asked_a_handler_that_waits_hears_that_it_failed) {
  clinic<patient, patient_script> on;
  on.does.asked = on.spawn<oracle>();
  on.open();
  auto answer = on.it.ask<late_question>(patience);
  on.play();
  on.tell(fail{"why not"});
  EXPECT_EQ(std::move(answer).get().error(), ask_error::failed);
  on.does.asked = {};
}

TEST(restart, who_asked_hears_so_too_if_it_was_not_a_failure_that_ended_the_object) {
  clinic<patient, patient_script> on;
  on.does.asked = on.spawn<oracle>();
  on.open();
  auto answer = on.it.ask<late_question>(patience);
  on.play();
  on.it.stop_now();
  on.play();
  EXPECT_EQ(std::move(answer).get().error(), ask_error::failed);
  on.does.asked = {};
}

class asks_at_its_end : public pupil {
 public:
  asks_at_its_end(script& does, patient_script& asks) : pupil(does), does_(does), asks_(asks) {}
  ~asks_at_its_end() { ask("continued behind the destructor"); }
  void on_stop() { ask("continued behind on_stop()"); }

 private:
  void ask(const char* what) {
    asks_.asked.ask<late_question>(patience).then(
        [&does = does_, what](ask_result<int>) { does.write(what); });
  }
  script& does_;
  patient_script& asks_;
};

TEST(restart, what_an_object_asks_as_it_ends_is_not_continued_in_the_next_one) {
  patient_script asks("asks");
  clinic<asks_at_its_end> on;
  asks.asked = on.spawn<oracle>();
  on.open(std::ref(asks));
  on.it.stop_now();
  on.play();
  EXPECT_EQ(on.does.objects, 2);
  asks.asked.send(job{42});
  on.play();
  EXPECT_THAT(on.does.log.lines(), ElementsAre("made", "started", "destroyed", "made", "started"));
}

TEST(restart, an_exclusive_handler_ends_with_its_object) {
  clinic<patient, patient_script> on;
  on.does.asked = on.spawn<oracle>();
  on.open();
  on.tell(begin_exclusive{});
  on.tell(say{"held up"});
  on.it.stop_now();
  on.play();
  EXPECT_EQ(on.does.waiting, 0);
  EXPECT_EQ(on.does.log.lines().back(), "held up");
  on.does.asked = {};
}

TEST(restart, a_question_in_the_mailbox_is_answered_by_the_next_object) {
  clinic<pupil> on;
  on.open();
  on.it.send(fail{"why not"});
  auto answer = on.it.ask<which_object>(patience);
  on.play();
  EXPECT_EQ(std::move(answer).get().value(), 2);
}

TEST(restart, its_own_timers_are_cancelled) {
  clinic<pupil> on;
  on.open();
  on.let_it([](pupil& p) {
    (void)p.me().send_every(1ms, say{"tick"});
    (void)p.me().send_after(10h, say{"later"});
  });
  ASSERT_EQ(on.system.statistics().timers_armed, 2u + 1u);  // one is the supervisor's
  on.tell(fail{"why not"});
  const auto lines = on.does.log.lines().size();
  const time_point then = clock::now();
  ASSERT_TRUE(eventually([&] { return on.play(), clock::now() > then + 5ms; }));
  EXPECT_EQ(on.does.log.lines().size(), lines);
}

TEST(restart, timers_that_others_have_armed_stay) {
  clinic<pupil> on;
  on.open();
  (void)on.it.send_after(1ms, say{"from outside"});
  on.tell(fail{"why not"});
  ASSERT_TRUE(eventually([&] { return on.play(), on.does.log.lines().back() == "from outside"; }));
}

TEST(restart, its_watches_of_others_end) {
  clinic<pupil> on;
  const auto other = on.spawn<probe>(on.log);
  on.open();
  on.let_it([&](pupil& p) { p.watch(other); });
  on.tell(fail{"why not"});
  other.stop();
  on.play();
  EXPECT_EQ(on.does.log.lines().back(), "started");
}

TEST(restart, a_down_that_is_in_the_mailbox_is_for_the_object_before) {
  clinic<pupil> on;
  const auto other = on.spawn<probe>(on.log);
  on.open();
  on.let_it([&](pupil& p) { p.watch(other); });
  other.stop();
  on.play();
  ASSERT_EQ(on.does.log.lines().back(), "down: stopped");
  const auto another = on.spawn<probe>(on.log);
  on.let_it([&](pupil& p) { p.watch(another); });
  // Both are in the mailbox when the failure is handled.
  on.it.send(std::function<void(pupil&)>([&](pupil&) {
    another.stop_now();
    throw std::runtime_error("why not");
  }));
  on.play();
  on.play();
  EXPECT_EQ(on.does.log.lines().back(), "started");
}

TEST(restart, is_no_down) {
  clinic<pupil> on;
  on.open();
  const auto watcher = on.spawn<probe>(on.log);
  watcher.send(call{[&](probe& p) { p.watch(on.it); }});
  on.play();
  on.tell(fail{"why not"});
  EXPECT_THAT(on.log.lines(), IsEmpty());
  on.it.stop();
  on.play();
  EXPECT_THAT(on.log.lines(), ElementsAre("down: stopped"));
}

TEST(restart, links_stay) {
  clinic<pupil> on;
  const auto peer = on.spawn<pupil>(on.other);
  on.open();
  on.let_it([&](pupil& p) { p.link(peer); });
  on.tell(fail{"why not"});
  EXPECT_EQ(on.other.alive, 1);
  // The link breaks: that is a failure of the child, and it comes back.
  peer.send(fail{"linked"});
  on.play();
  EXPECT_EQ(on.does.objects, 3);
  on.tell(say{"here"});
  EXPECT_EQ(on.does.log.lines().back(), "here");
}

TEST(restart, its_name_stays) {
  clinic<pupil> on;
  on.open();
  ASSERT_TRUE(names(on.system).add("somebody", on.it));
  on.tell(fail{"why not"});
  EXPECT_EQ(names(on.system).find<pupil>("somebody").value(), on.it);
}

class reader : public pupil {
 public:
  reader(script& does, const topic<say>& from) : pupil(does) { from.subscribe(self(this)); }
};

TEST(restart, its_subscriptions_end_with_the_object) {
  clinic<reader> on;
  const topic<say> news;
  on.open(news);
  on.tell(fail{"why not"});
  EXPECT_EQ(news.subscribers(), 1u);
  news.publish(say{"once"});
  on.play();
  EXPECT_THAT(on.does.log.lines(),
              ElementsAre("made", "started", "destroyed", "made", "started", "once"));
}

// ── Where it runs, and its limits ─────────────────────────────────────────────────────────────

TEST(restart, on_a_thread_of_its_own) {
  script a("a");
  recorder told;
  troupe::system system(told.options());
  const auto head = system.spawn<supervisor>(
      at_once, child_spec(child<pupil>("a", std::ref(a)).spawned({.where = own_thread})));
  const auto it = head.ask<find_child<pupil>>(patience, "a").get().value();
  it.send(fail{"why not"});
  EXPECT_EQ(it.ask<which_object>(patience).get().value(), 2);
}

TEST(restart, of_an_object_that_does_not_fit_its_slot) {
  struct large : pupil {
    using pupil::pupil;
    char much[100'000] = {};
  };
  clinic<large> on;
  on.open();
  on.tell(fail{"why not"});
  on.tell(say{"again"});
  EXPECT_EQ(on.does.log.lines().back(), "again");
}

TEST(restart, limits_hold_while_there_is_no_object) {
  script a("a");
  stage on;
  const auto head = on.spawn<supervisor>(supervision{.first = 10h, .longest = 10h},
                                         child_spec(child<pupil>("a", std::ref(a))
                                                        .spawned({.where = bound_to(on.pump),
                                                                  .max_messages = 3,
                                                                  .when_full = overload::refuse})));
  on.play();
  auto found = head.ask<find_child<pupil>>(patience, "a");
  on.play();
  const auto it = std::move(found).get().value();
  it.send(fail{"why not"});
  on.play();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(it.send(say{"kept"}), delivery::accepted);
  EXPECT_EQ(it.send(say{"too many"}), delivery::refused);
}

TEST(restart, a_forgotten_mailbox_makes_room) {
  clinic<pupil> on;
  on.open_spec(
      child<pupil>("a", std::ref(on.does))
          .forgets_mailbox()
          .spawned(
              {.where = bound_to(on.pump), .max_messages = 4, .when_full = overload::drop_oldest}));
  on.it.send(fail{"why not"});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(on.it.send(say{"forgotten"}), delivery::accepted);
  on.play();
  EXPECT_EQ(on.told.dead_letters().size(), 3u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(on.it.send(say{"kept"}), delivery::accepted);
  on.play();
  EXPECT_EQ(on.system.statistics().messages_dropped, 0u);
  EXPECT_EQ(on.system.statistics().messages_waiting, 0u);
  EXPECT_EQ(on.system.statistics().message_bytes_waiting, 0u);
}

class with_priorities : public pupil {
 public:
  explicit with_priorities(script& does) : pupil(does), does_(does) {}
  using pupil::on;
  void on(urgent) { does_.write("urgent"); }

 private:
  script& does_;
};

TEST(restart, what_was_dropped_before_the_mailbox_is_forgotten_is_counted_once) {
  clinic<with_priorities> on;
  on.open_spec(
      child<with_priorities>("a", std::ref(on.does))
          .forgets_mailbox()
          .spawned(
              {.where = bound_to(on.pump), .max_messages = 4, .when_full = overload::drop_oldest}));
  on.let_it([&](pupil&) {
    for (int i = 0; i < 4; ++i) on.it.send(say{"forgotten"});
    on.it.send(urgent{});  // in the place of the oldest of these
    throw std::runtime_error("why not");
  });
  EXPECT_EQ(on.system.statistics().messages_dropped, 1u);
  EXPECT_EQ(on.told.dead_letters().size(), 4u);
  on.it.send(say{"waits"});
  EXPECT_EQ(on.system.statistics().messages_waiting, 1u);
}

TEST(restart, by_stop_now_leaves_high_messages_before_the_others) {
  clinic<with_priorities> on;
  on.open();
  on.let_it([&](pupil&) {
    on.it.send(say{"normal"});
    on.it.send(urgent{});
    on.it.stop_now();
  });
  EXPECT_THAT(on.does.log.lines(), ElementsAre("made", "started", "stopped", "destroyed", "made",
                                               "started", "urgent", "normal"));
}

TEST(restart, one_that_fails_when_its_mailbox_is_full_does_not_fail_for_what_came_between) {
  script a("a");
  stage on;
  const auto head = on.spawn<supervisor>(
      supervision{.most = supervision::unlimited, .first = 1ms, .longest = 1ms},
      child_spec(child<pupil>("a", std::ref(a))
                     .spawned({.where = bound_to(on.pump),
                               .max_messages = 2,
                               .when_full = overload::fail_receiver})));
  on.play();
  auto found = head.ask<find_child<pupil>>(patience, "a");
  on.play();
  const auto it = std::move(found).get().value();
  it.send(fail{"why not"});
  on.play();
  if (a.objects == 1) {
    EXPECT_EQ(it.send(say{"one"}), delivery::accepted);
    EXPECT_EQ(it.send(say{"two"}), delivery::accepted);
    EXPECT_EQ(it.send(say{"too many"}), delivery::refused);
  }
  ASSERT_TRUE(eventually([&] { return on.play(), a.alive == 1; }));
  on.play();
  EXPECT_EQ(a.objects, 2);
  EXPECT_THAT(a.log.lines(),
              ElementsAre("made", "started", "destroyed", "made", "started", "one", "two"));
}

// ── Handled once more ─────────────────────────────────────────────────────────────────────────

struct workshop : clinic<retrying> {
  int failures = 0;
  void open_failing_at(int number, int times) {
    open(std::function<void(int)>([this, number, times](int at) {
      if (at == number && failures < times) {
        ++failures;
        throw std::runtime_error("why not");
      }
    }));
  }
};

TEST(redelivery, the_message_that_failed_comes_again_before_all_others) {
  workshop on;
  on.open_failing_at(2, 1);
  for (int i = 1; i <= 3; ++i) on.it.send(job{i});
  on.play();
  EXPECT_THAT(on.does.log.lines(),
              ElementsAre("job 1", "done 1", "job 2", "job 2", "done 2", "job 3", "done 3"));
  EXPECT_EQ(on.system.statistics().messages_waiting, 0u);
}

TEST(redelivery, comes_before_high_messages_too) {
  workshop on;
  on.open(std::function<void(int)>([&](int) {
    if (on.failures++ != 0) return;
    on.it.send(urgent{});
    throw std::runtime_error("why not");
  }));
  on.it.send(job{1});
  on.play();
  EXPECT_THAT(on.does.log.lines(), ElementsAre("job 1", "job 1", "done 1", "urgent"));
}

TEST(redelivery, is_tried_once) {
  workshop on;
  on.open_failing_at(2, 2);
  for (int i = 1; i <= 3; ++i) on.it.send(job{i});
  on.play();
  EXPECT_THAT(on.does.log.lines(),
              ElementsAre("job 1", "done 1", "job 2", "job 2", "job 3", "done 3"));
  EXPECT_EQ(on.does.objects, 3);
}

TEST(redelivery, what_is_not_listed_is_gone) {
  workshop on;
  on.open_failing_at(1, 1);
  on.it.send(slow_job{1});
  on.it.send(job{2});
  on.play();
  EXPECT_THAT(on.does.log.lines(), ElementsAre("job 2", "done 2"));
}

TEST(redelivery, comes_also_to_a_forgotten_mailbox) {
  workshop on;
  on.open_spec(child<retrying>("a", std::ref(on.does), std::function<void(int)>([&](int) {
                                 if (on.failures++ == 0) throw std::runtime_error("why not");
                               }))
                   .forgets_mailbox()
                   .spawned({.where = bound_to(on.pump)}));
  for (int i = 1; i <= 3; ++i) on.it.send(job{i});
  on.play();
  EXPECT_THAT(on.does.log.lines(), ElementsAre("job 1", "job 1", "done 1"));
}

TEST(redelivery, without_a_supervisor_nothing_comes_again) {
  script does("a");
  stage on;
  const auto it = on.spawn<retrying>(
      does, std::function<void(int)>([](int) { throw std::runtime_error("why not"); }));
  it.send(job{1});
  on.play();
  EXPECT_EQ(it.join(), exit_reason::failed);
  EXPECT_THAT(does.log.lines(), ElementsAre("job 1"));
}

TEST(redelivery, what_would_come_again_to_one_that_ends_is_a_dead_letter) {
  script does("a");
  stage on;
  const auto head = on.spawn<supervisor>(
      supervision{.first = 10h, .longest = 10h},
      child_spec(child<retrying>("a", std::ref(does), std::function<void(int)>([](int) {
                                   throw std::runtime_error("why not");
                                 }))
                     .spawned({.where = bound_to(on.pump)})));
  on.play();
  auto found = head.ask<find_child<retrying>>(patience, "a");
  on.play();
  const auto it = std::move(found).get().value();
  it.send(job{1});
  on.play();
  head.stop();
  on.play();
  EXPECT_EQ(it.join(), exit_reason::failed);
  EXPECT_EQ(on.told.dead_letters().size(), 1u);
}

}  // namespace
}  // namespace troupe::test
