// SPDX-License-Identifier: Apache-2.0
// The shutdown of a system: refused messages, discarded messages, and notifications.
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/actor/function_actor.hpp>
#include <troupe/actor/shutdown_report.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/detail/sync/atomic.hpp>

#include "actor/ask_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ── Spawning ──────────────────────────────────────────────────────────────────────────────────

class notes_its_construction : public actor {
 public:
  explicit notes_its_construction(journal& log) { log.write("constructed"); }
  void on(const note&) {}
  int on(add m) { return m.a + m.b; }
};

TEST(after_shutdown, a_spawned_actor_is_stopped_and_refuses_messages_and_requests) {
  journal log;
  recorder told;
  system s(told.options(1));
  s.shutdown(patience);
  const auto it = s.spawn<notes_its_construction>(log);
  EXPECT_EQ(it.send(note{"too late"}), delivery::refused);
  EXPECT_EQ((it.ask<add>(patience, 1, 2).get().error()), ask_error::stopped);
  EXPECT_EQ(it.join_for(0s), exit_reason::stopped);
  EXPECT_THAT(log.lines(), IsEmpty()) << "its constructor has not run";
  EXPECT_THAT(told.dead_letters(), SizeIs(2)) << "refusals are dead letters";
}

TEST(after_shutdown, spawn_refuses_in_every_place) {
  journal log;
  stage on;
  on.system.shutdown(patience);
  for (const placement where : {pool, own_thread, bound_to(on.pump)}) {
    const auto it = on.system.spawn<notes_its_construction>({.name = "late", .where = where}, log);
    EXPECT_EQ(it.send(note{"too late"}), delivery::refused);
    EXPECT_EQ(it.join_for(0s), exit_reason::stopped);
  }
  EXPECT_THAT(log.lines(), IsEmpty());
  EXPECT_EQ(on.system.statistics().own_threads, 0u);
}

TEST(after_shutdown, spawn_refuses_a_function) {
  system s{{.workers = 1}};
  s.shutdown(patience);
  const recipient<note> it =
      s.spawn<note>([](context& self) -> task<> { (void)co_await self.receive<note>(); });
  EXPECT_EQ(it.send(note{"too late"}), delivery::refused);
}

TEST(after_shutdown, an_actor_that_on_stop_spawns_has_already_stopped) {
  journal log;
  ref<notes_its_construction> late;
  {
    system s{{.workers = 1}};
    const auto watcher = s.spawn<probe>(log, steps{.at_stop = [&](probe& me) {
                                          late = me.system().spawn<notes_its_construction>(log);
                                        }});
    s.shutdown(patience);
    EXPECT_EQ(late.join_for(0s), exit_reason::stopped);
    late = {};
  }
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(after_shutdown, spawned_actors_leave_nothing_behind) {
  journal log;
  system s{{.workers = 1}};
  s.shutdown(patience);
  for (int i = 0; i < 1000; ++i) s.spawn<notes_its_construction>(log);
  EXPECT_TRUE(s.shutdown(0s).complete());
  EXPECT_EQ(s.statistics().actors_alive, 0u);
}

TEST(is_stopping, is_true_once_spawn_no_longer_creates_actors) {
  system s{{.workers = 1}};
  EXPECT_FALSE(s.is_stopping());
  s.shutdown(0s);
  EXPECT_TRUE(s.is_stopping());
}

// ── Waiting for all ───────────────────────────────────────────────────────────────────────────

TEST(join_all, returns_when_all_actors_have_ended_by_themselves) {
  atomic<int> handled{0};
  journal log;
  system s{{.workers = 2}};
  for (int i = 0; i < 50; ++i) {
    const auto it = s.spawn<probe>(log);
    it.send(call{[&](probe&) { ++handled; }});
  }
  s.join_all();
  EXPECT_EQ(handled.load(), 50);
  EXPECT_EQ(s.statistics().actors_alive, 0u);
  EXPECT_FALSE(s.is_stopping());
  EXPECT_EQ(s.spawn<probe>(log).send(note{"afterwards"}), delivery::accepted);
}

TEST(join_all, waits_for_actors_that_are_spawned_while_it_waits) {
  class family : public actor {
   public:
    explicit family(int generations) : left_(generations) {}
    ~family() {
      if (left_ > 0) system().spawn<family>(left_ - 1);
    }

   private:
    int left_;
  };
  system s{{.workers = 2}};
  for (int i = 0; i < 10; ++i) s.spawn<family>(20);
  s.join_all();
  EXPECT_EQ(s.statistics().actors_spawned, 10u * 21);
}

TEST(join_all, gives_up_at_its_deadline_and_stops_no_actor) {
  journal log;
  system s{{.workers = 1}};
  const auto it = s.spawn<probe>(log);
  EXPECT_FALSE(s.join_all_for(1ms));
  EXPECT_FALSE(s.join_all_until(clock::now()));
  EXPECT_EQ(it.send(note{"still there"}), delivery::accepted);
  it.stop();
  EXPECT_TRUE(s.join_all_for(patience));
  EXPECT_THAT(log.lines(), ElementsAre("still there", "destroyed"));
}

TEST(join_all, on_the_thread_of_a_pump_pumps) {
  journal log;
  stage on;
  on.spawn<probe>(log).send(note{"pumped"});
  on.system.join_all();
  EXPECT_THAT(log.lines(), ElementsAre("pumped", "destroyed"));
}

TEST(join_all, inside_a_handler_is_a_logic_error) {
  journal log;
  system s{{.workers = 1}};
  const auto it = s.spawn<probe>(log);
  it.send(
      call{[&](probe& me) { EXPECT_THROW((void)me.system().join_all_for(0s), std::logic_error); }});
  it.stop();
  EXPECT_EQ(it.join(), exit_reason::stopped);
}

// ── Callbacks ─────────────────────────────────────────────────────────────────────────────────

/// Makes requests that are not answered, with a callback for each number.
struct asks_of {
  ref<oracle> whom;
  int times = 1;
};

class with_callbacks : public actor {
 public:
  explicit with_callbacks(journal& log) : log_(log) {}
  ~with_callbacks() { log_.write("destroyed"); }
  void on_stop() { log_.write("on_stop"); }
  void on(const asks_of& m) {
    for (int i = 1; i <= m.times; ++i) {
      m.whom.ask<answer_later>(no_timeout).then([this, i](ask_result<int> got) {
        log_.write(std::to_string(i) + " " + text(got));
      });
    }
    log_.write("asked");
  }
  void on(const std::function<void(with_callbacks&)>& what) { what(*this); }

  journal& log_;
};

using in_it = std::function<void(with_callbacks&)>;

TEST(callback, receives_stopped_before_the_on_stop_of_its_actor) {
  journal log;
  stage on;
  const auto silent = on.spawn<oracle>();
  const auto it = on.system.spawn<with_callbacks>(log);
  it.send(asks_of{silent, 3});
  ASSERT_TRUE(log.wait_for(1));
  it.stop();
  EXPECT_EQ(it.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(),
              ElementsAre("asked", "1 stopped", "2 stopped", "3 stopped", "on_stop", "destroyed"));
}

TEST(callback, receives_stopped_from_stop_now_and_from_the_system_destructor) {
  for (const bool now : {false, true}) {
    journal log;
    {
      stage on;
      const auto silent = on.spawn<oracle>();
      const auto it = on.system.spawn<with_callbacks>(log);
      it.send(asks_of{silent, 1});
      ASSERT_TRUE(log.wait_for(1));
      if (now) it.stop_now();
    }
    EXPECT_THAT(log.lines(), ElementsAre("asked", "1 stopped", "on_stop", "destroyed"));
  }
}

TEST(callback, is_not_called_in_an_actor_that_has_failed) {
  journal log;
  recorder told;
  system s(told.options(1));
  stage on;
  const auto silent = on.spawn<oracle>();
  const auto held = std::make_shared<int>(1);
  const auto it = s.spawn<with_callbacks>(log);
  it.send(in_it{[&](with_callbacks& me) {
    silent.ask<answer_later>(no_timeout).then([held, &me](ask_result<int>) {
      me.log_.write("called");
    });
    throw std::runtime_error("broken");
  }});
  EXPECT_EQ(it.join(), exit_reason::failed);
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
  EXPECT_EQ(held.use_count(), 1) << "it is destroyed with its actor";
}

TEST(callback, that_sends_another_request_while_its_actor_stops_runs_only_once) {
  journal log;
  stage on;
  const auto silent = on.spawn<oracle>();
  const auto held = std::make_shared<int>(1);
  const auto it = on.system.spawn<with_callbacks>(log);
  const std::function<void(with_callbacks&)> ask = [&, held](with_callbacks& me) {
    silent.ask<answer_later>(no_timeout).then([&ask, &me, held](ask_result<int> got) {
      me.log_.write(text(got));
      ask(me);
    });
  };
  it.send(in_it{[&](with_callbacks& me) { ask(me); }});
  it.stop();
  EXPECT_EQ(it.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("stopped", "on_stop", "destroyed"));
  EXPECT_EQ(held.use_count(), 2) << "the test's own, and that of `ask`";
}

TEST(callback, that_throws_when_its_actor_stops_fails_it_and_the_others_are_destroyed) {
  journal log;
  recorder told;
  system s(told.options(1));
  stage on;
  const auto silent = on.spawn<oracle>();
  const auto it = s.spawn<with_callbacks>(log);
  it.send(in_it{[&](with_callbacks& me) {
    for (const bool throws : {true, false}) {
      silent.ask<answer_later>(no_timeout).then([&me, throws](ask_result<int>) {
        me.log_.write("called");
        if (throws) throw std::runtime_error("no more");
      });
    }
  }});
  it.stop();
  EXPECT_EQ(it.join(), exit_reason::failed);
  EXPECT_THAT(log.lines(), ElementsAre("called", "destroyed")) << "and on_stop does not run";
  ASSERT_THAT(told.failures(), SizeIs(1));
  EXPECT_EQ(told.failures()[0].what, "no more");
}

TEST(callback, delayed_by_an_exclusive_handler_gets_its_reply_at_stop) {
  journal log;
  stage on;
  class both : public actor {
   public:
    both(journal& log, ref<oracle> whom) : log_(log), whom_(std::move(whom)) {}
    void on(const note&) {
      whom_.ask<add>(no_timeout, 1, 2).then([this](ask_result<int> got) { log_.write(text(got)); });
    }
    exclusive_task<> on(add) { (void)co_await whom_.ask<answer_later>(no_timeout); }

   private:
    journal& log_;
    const ref<oracle> whom_;
  };
  const auto it = on.spawn<both>(log, on.spawn<oracle>());
  it.send(note{"ask"});
  it.send(add{1, 2});
  on.play();
  EXPECT_THAT(log.lines(), IsEmpty());
  it.stop_now();
  on.play();
  EXPECT_EQ(it.join(), exit_reason::stopped_now);
  EXPECT_THAT(log.lines(), ElementsAre("value"));
}

// ── A backlog ─────────────────────────────────────────────────────────────────────────────────

/// Handles a call, in which a test makes it block; counts the rest.
class clerk : public actor {
 public:
  explicit clerk(atomic<int>& handled) : handled_(handled) {}
  void on(const std::function<void()>& what) { what(); }
  void on(add) { ++handled_; }

 private:
  atomic<int>& handled_;
};

TEST(shutdown, report_counts_waiting_messages_and_shutdown_now_discards_them) {
  recorder told;
  system s(told.options(1));
  event handling;
  event go_on;
  atomic<int> handled{0};
  const auto it = s.spawn<clerk>(spawn_options{.name = "clerk"}, handled);
  it.send(std::function<void()>{[&] {
    handling.set();
    go_on.wait();
  }});
  ASSERT_TRUE(handling.wait());
  for (int i = 0; i < 100; ++i) it.send(add{1, 2});
  shutdown_report report = s.shutdown(1ms);
  ASSERT_THAT(report.stragglers, SizeIs(1));
  EXPECT_GE(report.stragglers[0].waiting, 100u);
  EXPECT_LE(report.stragglers[0].waiting, 102u) << "the one that it handles, and its stop";
  EXPECT_EQ(report.discarded, 0u);
  EXPECT_THAT(to_string(report), HasSubstr("; at most 10"));

  report = s.shutdown_now(1ms);
  EXPECT_FALSE(report.complete()) << "a handler is not interrupted";
  go_on.set();
  report = s.shutdown_now(patience);
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.discarded, 100u);
  EXPECT_EQ(handled.load(), 0);
  EXPECT_EQ(it.join(), exit_reason::stopped_now);
  EXPECT_THAT(told.dead_letters(), SizeIs(100));
}

TEST(shutdown_now, terminates_actors_without_handling_their_waiting_messages) {
  journal log;
  stage on;
  const auto it = on.spawn<probe>(log);
  for (int i = 0; i < 10; ++i) it.send(note{"never"});
  EXPECT_TRUE(on.system.shutdown_now(patience).complete());
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(shutdown_now, inside_a_handler_is_a_logic_error) {
  journal log;
  system s{{.workers = 1}};
  const auto it = s.spawn<probe>(log);
  it.send(call{[&](probe& me) { EXPECT_THROW(me.system().shutdown_now(0s), std::logic_error); }});
  it.stop();
  EXPECT_EQ(it.join(), exit_reason::stopped);
}

}  // namespace
}  // namespace troupe::test
