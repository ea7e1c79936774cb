// SPDX-License-Identifier: Apache-2.0
// Which parts of an actor end with an incarnation, and which survive a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <troupe/actor/observer.hpp>
#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct begin_waiting {};
struct begin_exclusive {};
struct late_question {};
struct answer_now {
  int number;
};

// Replies when the test tells it to.
class oracle : public actor {
 public:
  void on(late_question, reply<int> to) { owed_ = std::move(to); }
  void on(answer_now m) { std::exchange(owed_, {}).set_value(m.number); }

 private:
  reply<int> owed_;
};

struct patient_script : script {
  using script::script;
  ref<oracle> asked;
  atomic<int> waiting{0};
};

// Its handlers wait, and record when they are destroyed.
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

TEST(restart, a_reply_to_the_previous_incarnation_is_late) {
  clinic<patient, patient_script> on;
  const auto asked = on.does.asked = on.spawn<oracle>();
  on.open();
  on.tell(begin_waiting{});
  on.tell(fail{"why not"});
  on.tell(begin_waiting{});
  // The second request has replaced the reply object of the first one, so this replies to the
  // second.
  asked.send(answer_now{7});
  on.play();
  EXPECT_EQ(on.does.log.lines().back(), "answer 7");
  on.does.asked = {};
}

TEST(restart, late_replies_are_counted_and_not_delivered) {
  clinic<patient, patient_script> on;
  const auto asked = on.does.asked = on.spawn<oracle>();
  on.open();
  on.tell(begin_waiting{});
  on.tell(fail{"why not"});
  asked.send(answer_now{7});
  on.play();
  EXPECT_EQ(on.system.statistics().answers_late, 1u);
  EXPECT_EQ(on.does.log.lines().back(), "started");
  on.does.asked = {};
}

TEST(restart, fails_a_request_whose_handler_is_suspended) {
  clinic<patient, patient_script> on;
  on.does.asked = on.spawn<oracle>();
  on.open();
  auto answer = on.it.ask<late_question>(patience);
  on.play();
  on.tell(fail{"why not"});
  EXPECT_EQ(std::move(answer).get().error(), ask_error::failed);
  on.does.asked = {};
}

TEST(restart, fails_a_request_whose_handler_is_suspended_also_after_stop_now) {
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

TEST(restart, a_request_sent_during_termination_is_not_continued_afterwards) {
  patient_script asks("asks");
  clinic<asks_at_its_end> on;
  asks.asked = on.spawn<oracle>();
  on.open(std::ref(asks));
  on.it.stop_now();
  on.play();
  EXPECT_EQ(on.does.objects, 2);
  asks.asked.send(answer_now{42});
  on.play();
  EXPECT_THAT(on.does.log.lines(), ElementsAre("made", "started", "destroyed", "made", "started"));
}

TEST(restart, terminates_an_exclusive_handler_with_its_incarnation) {
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

TEST(restart, a_request_in_the_mailbox_is_handled_by_the_next_incarnation) {
  clinic<pupil> on;
  on.open();
  on.it.send(fail{"why not"});
  auto answer = on.it.ask<which_object>(patience);
  on.play();
  EXPECT_EQ(std::move(answer).get().value(), 2);
}

TEST(restart, cancels_the_timers_of_the_previous_incarnation) {
  clinic<pupil> on;
  on.open();
  on.let_it([](pupil& p) {
    (void)p.me().send_every(1ms, say{"tick"});
    (void)p.me().send_after(10h, say{"later"});
  });
  ASSERT_EQ(on.system.statistics().timers_armed, 2u + 1u);  // one belongs to the supervisor
  on.tell(fail{"why not"});
  const auto lines = on.does.log.lines().size();
  const time_point then = clock::now();
  ASSERT_TRUE(eventually([&] { return on.play(), clock::now() > then + 5ms; }));
  EXPECT_EQ(on.does.log.lines().size(), lines);
}

TEST(restart, cancels_only_its_own_timer_messages_in_the_mailbox) {
  clinic<pupil> on;
  on.open();
  const auto accepted = [&] { return on.system.statistics().messages_accepted; };
  const auto before = accepted();
  on.it.send(std::function<void(pupil&)>([&](pupil& p) {
    (void)p.me().send_after(1us, say{"its own"});
    EXPECT_TRUE(eventually([&] { return accepted() == before + 3; })) << "this, and two ticks";
    throw std::runtime_error("why not");
  }));
  (void)on.it.send_after(1us, say{"from outside"});
  on.play();
  EXPECT_EQ(on.does.objects, 2);
  EXPECT_THAT(on.does.log.lines(), ::testing::Not(::testing::Contains("its own")));
  EXPECT_EQ(on.does.log.lines().back(), "from outside");
  EXPECT_EQ(on.system.statistics().timers_armed, 1u);  // the supervisor's
}

TEST(restart, timers_that_others_have_armed_stay) {
  clinic<pupil> on;
  on.open();
  // Handled when the stage plays, so the timer is armed before the failure in any case.
  on.it.send(fail{"why not"});
  (void)on.it.send_after(1ms, say{"from outside"});
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

TEST(restart, discards_a_down_message_for_the_previous_incarnation) {
  clinic<pupil> on;
  const auto other = on.spawn<probe>(on.log);
  on.open();
  on.let_it([&](pupil& p) { p.watch(other); });
  other.stop();
  on.play();
  ASSERT_EQ(on.does.log.lines().back(), "down: stopped");
  // Not on the pump: it terminates, and its `down` arrives, while the failing handler runs.
  const auto another = on.system.spawn<probe>(on.log);
  on.let_it([&](pupil& p) { p.watch(another); });
  on.it.send(std::function<void(pupil&)>([&](pupil&) {
    const std::uint64_t alive = on.system.statistics().actors_alive;
    another.stop_now();
    EXPECT_TRUE(eventually([&] { return on.system.statistics().actors_alive < alive; }));
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
  // The link's failure is a failure of the child, so it is restarted.
  peer.send(fail{"linked"});
  on.play();
  EXPECT_EQ(on.does.objects, 3);
  on.tell(say{"here"});
  EXPECT_EQ(on.does.log.lines().back(), "here");
}

TEST(restart, its_name_stays) {
  clinic<pupil> on;
  on.open();
  ASSERT_TRUE(registry(on.system).add("somebody", on.it));
  on.tell(fail{"why not"});
  EXPECT_EQ(registry(on.system).find<pupil>("somebody").value(), on.it);
}

class reader : public pupil {
 public:
  reader(script& does, const topic<say>& from) : pupil(does) { from.subscribe(self(this)); }
};

TEST(restart, ends_the_subscriptions_of_the_previous_incarnation) {
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

TEST(restart, works_for_an_actor_on_its_own_thread) {
  script a("a");
  recorder told;
  troupe::system system(told.options());
  const auto head = system.spawn<supervisor>(
      at_once, child_spec(child<pupil>("a", std::ref(a)).options({.where = own_thread})));
  const auto it = head.ask<find_child<pupil>>(patience, "a").get().value();
  it.send(fail{"why not"});
  EXPECT_EQ(it.ask<which_object>(patience).get().value(), 2);
}

TEST(restart, notifies_an_observer_once_the_next_incarnation_has_started) {
  class lives : public observer {
   public:
    journal log;
    void started(const actor_event& e) override { write("started", e.actor); }
    void restarted(const actor_event& e) override { write("restarted", e.actor); }
    void ended(const actor_event& e, exit_reason why) override {
      if (e.actor == "a") log.write("ended: " + std::string(to_string(why)));
    }
    void failed(const failure& f) override { write("failed", f.actor); }

   private:
    void write(const char* what, std::string_view who) {
      if (who == "a") log.write(what);
    }
  };
  const auto seen = std::make_shared<lives>();
  script a("a");
  a.at_start = [](int object) {
    if (object == 2) throw std::runtime_error("not yet");
  };
  recorder told;
  system_options options = told.options(1);
  options.observer = seen;
  troupe::system system(options);
  troupe::pump pump(system);
  const spawn_options here{.where = bound_to(pump)};
  const auto head = system.spawn<supervisor>(
      here, at_once, child_spec(child<pupil>("a", std::ref(a)).options(here)));
  pump.run_until_idle();
  auto answer = head.ask<find_child<pupil>>(patience, "a");
  pump.run_until_idle();
  const ref<pupil> it = std::move(answer).get().value();
  it.send(fail{"why not"});
  pump.run_until_idle();
  EXPECT_THAT(seen->log.lines(), ElementsAre("started", "failed", "failed", "restarted"))
      << "the second object has not started";
  it.stop();
  pump.run_until_idle();
  EXPECT_EQ(seen->log.lines().back(), "ended: stopped");
}

// ── Exceptions from on_stop() ─────────────────────────────────────────────────────────────────

struct fails_to_stop : clinic<pupil> {
  void open(restart when) {
    open_spec(
        child<pupil>("a", std::ref(does)).options({.where = bound_to(pump)}).restart_policy(when));
    does.at_stop = [this] {
      if (does.objects == 1) throw std::runtime_error("on_stop failed");
    };
  }
};

TEST(restart, after_a_failure_follows_an_exception_out_of_on_stop) {
  fails_to_stop on;
  on.open(restart::on_failure);
  on.it.stop();
  on.play();
  EXPECT_THAT(on.does.log.lines(), ElementsAre("made", "started", "destroyed", "made", "started"));
  // on_stop() of the second incarnation returns, so this is not a failure.
  on.it.stop();
  on.play();
  EXPECT_EQ(on.does.objects, 2);
  EXPECT_EQ(on.it.join(), exit_reason::stopped);
}

TEST(restart, does_not_follow_an_exception_out_of_on_stop_where_it_never_does) {
  fails_to_stop on;
  on.open(restart::never);
  on.it.stop();
  on.play();
  EXPECT_EQ(on.does.objects, 1);
  EXPECT_EQ(on.it.join(), exit_reason::failed);
}

TEST(restart, does_not_follow_an_exception_out_of_on_stop_when_the_supervisor_stops) {
  fails_to_stop on;
  on.open(restart::on_failure);
  on.head.stop();
  on.play();
  EXPECT_EQ(on.does.objects, 1);
  EXPECT_EQ(on.it.join(), exit_reason::failed);
}

// ── Factories ─────────────────────────────────────────────────────────────────────────────────

class equipped : public pupil {
 public:
  equipped(script& does, std::shared_ptr<int>) : pupil(does) {}
};

TEST(restart, the_childs_constructor_arguments_are_released_with_its_last_turn) {
  clinic<equipped> on;
  std::weak_ptr<int> seen;
  {
    auto part = std::make_shared<int>(1);
    seen = part;
    on.open(std::move(part));
  }
  ASSERT_FALSE(seen.expired());
  on.head.stop();
  on.head = {};
  on.play();
  ASSERT_EQ(on.it.join(), exit_reason::stopped);
  EXPECT_TRUE(seen.expired())
      << "a reference to an actor that has ended keeps nothing of the user's";
}

}  // namespace
}  // namespace troupe::test
