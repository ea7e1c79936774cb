// SPDX-License-Identifier: Apache-2.0
// A restart meets something else: what was kept, a suspended sender, a trace, the end of a pump or
// of a system, and the end of a supervisor that does not wait any longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/actor/trace.hpp>
#include <troupe/supervision/dynamic_supervisor.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/no_memory_test_support.hpp"
#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ── What an exclusive handler has kept ────────────────────────────────────────────────────────

struct wait_alone {};
struct high_note {
  static constexpr auto priority = troupe::priority::high;
  std::string text;
};

class recluse : public actor {
 public:
  explicit recluse(script& does) : does_(does) { ++does.objects; }
  exclusive_task<> on(wait_alone) { co_await sleep_for(10h); }
  void on(const say& m) { does_.write(m.text); }
  void on(const high_note& m) { does_.write(m.text); }

 private:
  script& does_;
};

// One high message has been kept and the other only sorted when the object ends: both come first.
TEST(restart, handles_high_priority_messages_before_stashed_ones) {
  clinic<recluse> on;
  on.open();
  on.tell(wait_alone{});
  on.tell(say{"kept"});
  on.it.send(say{"waits"});
  on.it.send(high_note{"high 1"});
  on.it.send(high_note{"high 2"});
  (void)on.pump.drain_at_most(1);  // what is kept does not count as handled
  on.it.stop_now();
  on.play();
  EXPECT_EQ(on.does.objects, 2);
  EXPECT_THAT(on.does.log.lines(), ElementsAre("high 1", "high 2", "kept", "waits"));
}

struct unlock {};

// Keeps what it is told until it is unlocked.
class vault : public state_machine<vault> {
 public:
  struct shut : state {
    using defers = troupe::messages<say>;
  };
  struct open : state {};
  using states = troupe::states<shut, open>;
  using messages = troupe::messages<say, unlock>;

  explicit vault(script& does) : does_(does) { ++does.objects; }
  to<open> on(shut, unlock) { return {}; }
  void on(open, const say& m) { does_.write(m.text); }

 private:
  script& does_;
};

TEST(restart, with_clear_mailbox_discards_a_stashed_timer_message) {
  for (const bool forgets : {true, false}) {
    clinic<vault> on;
    auto spec = child<vault>("a", std::ref(on.does)).options({.where = bound_to(on.pump)});
    if (forgets) spec.clear_mailbox();
    on.open_spec(spec);
    (void)on.it.send_after(0ms, say{"kept"});  // the test's own timer: a restart does not cancel it
    ASSERT_TRUE(time_passes(on.system));
    on.play();
    on.it.stop_now();
    on.play();
    on.tell(unlock{});
    on.tell(say{"next"});
    EXPECT_EQ(on.does.objects, 2);
    EXPECT_EQ(on.does.log.lines().size(), forgets ? 1u : 2u);
    EXPECT_EQ(on.does.log.lines().back(), "next");
  }
}

// The next object is long in coming, and nothing else counts the messages off meanwhile.
TEST(restart, with_clear_mailbox_frees_space_before_the_next_incarnation_starts) {
  constexpr int places = 4;
  clinic<pupil> on;
  supervision rules = at_once;
  rules.min_backoff = rules.max_backoff = 10h;
  on.school::open(rules, child<pupil>("a", std::ref(on.does))
                             .clear_mailbox()
                             .options({.where = bound_to(on.pump),
                                       .max_messages = places,
                                       .on_full = overflow::refuse}));
  on.it = on.find("a");
  on.it.send(fail{"why not"});
  for (int i = 1; i < places; ++i) EXPECT_EQ(on.it.send(say{"forgotten"}), delivery::accepted);
  on.play();
  EXPECT_EQ(on.does.alive, 0);
  for (int i = 0; i < places; ++i) EXPECT_EQ(on.it.send(say{"waits"}), delivery::accepted) << i;
  EXPECT_EQ(on.it.send(say{"too much"}), delivery::refused);
}

// ── What it was told of a link ────────────────────────────────────────────────────────────────

// Links with an actor that has failed, and reads about it when it is unlocked.
class witness : public state_machine<witness> {
 public:
  struct busy : state {
    using defers = troupe::messages<link_down, down>;
  };
  struct reading : state {};
  using states = troupe::states<busy, reading>;
  using messages = troupe::messages<unlock, fail, link_down, down>;

  witness(script& does, const address& other) : does_(does) {
    ++does.objects;
    link(other);
    watch(other);
  }
  to<reading> on(busy, unlock) { return {}; }
  void on(fail m) { throw std::runtime_error(m.why); }
  void on(reading, const link_down&) { does_.write("link_down"); }
  void on(reading, const down&) { does_.write("down"); }

 private:
  script& does_;
};

struct watched_witness : clinic<witness> {
  explicit watched_witness(bool forgets) {
    auto gone = system.spawn<pupil>(spawn_options{.where = bound_to(pump)}, other);
    const address where = gone;
    gone.stop_now();
    play();
    auto spec = child<witness>("a", std::ref(does), where).options({.where = bound_to(pump)});
    if (forgets) spec.clear_mailbox();
    open_spec(spec);
    play();
  }
};

TEST(restart, with_clear_mailbox_keeps_notifications_for_the_next_incarnation) {
  for (const bool forgets : {true, false}) {
    watched_witness on(forgets);
    on.it.send(fail{"a new one, please"});
    on.play();
    EXPECT_EQ(on.does.objects, 2);
    on.tell(unlock{});
    EXPECT_THAT(on.does.log.lines(), ::testing::UnorderedElementsAre("link_down", "down"));
  }
}

// Each allocation fails once: those of the restart, which then may not happen, and those that keep
// what the object is told, which fail it once more.
TEST(restart, out_of_memory_while_stashing_a_notification_does_not_lose_it) {
  int failed_again = 0;
  for (std::uint64_t which = 1;; ++which) {
    watched_witness on(false);
    on.it.send(fail{"links again"});
    bool has_failed = false;
    {
      const failing_allocation memory(which);
      on.play();
      has_failed = failing_allocation::has_failed();
    }
    on.play();
    on.tell(unlock{});
    if (!on.it.join_for(0ms)) {
      EXPECT_THAT(on.does.log.lines(), ::testing::UnorderedElementsAre("link_down", "down"))
          << "allocation " << which << " failed";
      failed_again += on.does.objects > 2 ? 1 : 0;
    }
    if (!has_failed) break;
    ASSERT_LT(which, 100u);
  }
  EXPECT_GE(failed_again, 2) << "at the link_down, and at the down";
}

// ── Suspended senders ─────────────────────────────────────────────────────────────────────────

// Sends messages beyond the limit in one handler; one of them fails the receiver.
class failing_flood : public actor {
 public:
  static constexpr int most = 32;
  explicit failing_flood(ref<pupil> to) : to_(std::move(to)) {}
  void on(int failing) {
    for (int i = 1; i <= most + 1; ++i) {
      (void)(i == failing ? to_.send(fail{"why not"}) : to_.send(say{"one of many"}));
    }
  }

 private:
  const ref<pupil> to_;
};

TEST(restart, that_forgets_the_mailbox_resumes_its_senders_whichever_message_failed) {
  for (int failing = 1; failing <= failing_flood::most; ++failing) {
    script does("a");
    recorder told;
    troupe::system s(told.options(1));
    const auto head = s.spawn<supervisor>(
        at_once,
        child_spec(child<pupil>("a", std::ref(does))
                       .clear_mailbox()
                       .options({.where = own_thread, .max_messages = failing_flood::most})));
    const auto it = head.ask<find_child<pupil>>(patience, "a").get().value();
    const auto from = s.spawn<failing_flood>(it);
    from.send(failing);
    from.stop();
    ASSERT_EQ(from.join_for(patience), exit_reason::stopped) << "message " << failing << " failed";
  }
}

// ── Traces ────────────────────────────────────────────────────────────────────────────────────

struct traced_job {};

class traced : public actor {
 public:
  using redelivered = troupe::messages<traced_job>;
  explicit traced(script& does) : does_(does) { ++does.objects; }
  void on(traced_job) {
    does_.write(std::to_string(current_trace()));
    if (does_.objects == 1) throw std::runtime_error("why not");
  }

 private:
  script& does_;
};

TEST(redelivery, belongs_to_the_trace_of_its_message) {
  script does("a");
  system_options options{.workers = 1, .on_failure = [](const failure&) {}, .traces = true};
  troupe::system s(std::move(options));
  pump here(s);
  const auto head = s.spawn<supervisor>(
      {.where = bound_to(here)}, at_once,
      child_spec(child<traced>("a", std::ref(does)).options({.where = bound_to(here)})));
  here.run_until_idle();
  auto found = head.ask<find_child<traced>>(patience, "a");
  here.run_until_idle();
  {
    const trace_scope scope(42);
    std::move(found).get().value().send(traced_job{});
  }
  here.run_until_idle();
  EXPECT_THAT(does.log.lines(), ElementsAre("42", "42"));
  head.stop();
  here.run_until_idle();
}

// ── Groups ────────────────────────────────────────────────────────────────────────────────────

// The supervisor hears of the first, and orders the second to end, when that has just ended by
// itself.
TEST(restart, of_a_group_spares_the_next_incarnation_of_another_failed_child) {
  supervision rules = at_once;
  rules.strategy = restart_strategy::one_for_all;
  script a("a");
  script b("b");
  school on;
  on.open(rules, on.pupil_of(a), on.pupil_of(b));
  const auto first = on.find("a");
  const auto second = on.find("b");
  first.send(fail{"why not"});
  second.send(fail{"me too"});
  on.play();
  EXPECT_EQ(a.objects, 2);
  EXPECT_EQ(b.objects, 2);
}

// The order is that of a start together.
TEST(restart, of_one_child_does_not_wait_for_another_that_is_starting) {
  event may_start;
  script a("a");
  script b("b");
  a.at_start = [&](int object) {
    if (object == 2) may_start.wait();
  };
  recorder told;
  troupe::system system(told.options());
  const auto alone = [](script& does) {
    return child_spec(child<pupil>(does.name, std::ref(does)).options({.where = own_thread}));
  };
  const auto head = system.spawn<supervisor>(at_once, alone(a), alone(b));
  const auto find = [&](const char* name) {
    return head.ask<find_child<pupil>>(patience, name).get().value();
  };
  const auto second = find("b");
  ASSERT_TRUE(eventually([&] { return b.objects == 1; }));
  find("a").send(fail{"why not"});
  ASSERT_TRUE(eventually([&] { return a.objects == 2; }));
  second.send(fail{"me too"});
  EXPECT_TRUE(eventually([&] { return b.objects == 2; }));
  may_start.set();
}

// ── Ends ──────────────────────────────────────────────────────────────────────────────────────

TEST(restart, does_not_follow_shutdown_now_and_the_child_has_been_stopped_now) {
  for (const auto when : {troupe::restart::always, troupe::restart::on_failure}) {
    clinic<pupil> on;
    on.open_spec(child<pupil>("a", std::ref(on.does))
                     .restart_policy(when)
                     .options({.where = bound_to(on.pump)}));
    (void)on.system.shutdown_now(patience);
    EXPECT_EQ(on.it.join(), exit_reason::stopped_now);
  }
}

TEST(restart, does_not_follow_if_the_pump_is_destroyed_before_the_child_started) {
  script a("a");
  recorder told;
  troupe::system system(told.options());
  auto pump = std::make_unique<troupe::pump>(system);
  const auto head = system.spawn<supervisor>(
      at_once, child_spec(child<pupil>("a", std::ref(a)).options({.where = bound_to(*pump)})));
  // Not on this thread, which would pump while it waits.
  std::thread([&] {
    auto children = head.ask<list_children>(patience).get();
    EXPECT_EQ(children.value().at(0).now, child_status::state::starting);
  }).join();
  EXPECT_EQ(a.objects, 0);
  pump.reset();
  EXPECT_EQ(a.alive, 0);
  EXPECT_LE(a.objects, 1);
  head.stop();
  EXPECT_EQ(head.join(), exit_reason::stopped);
}

// Takes its time to go.
class lingering : public actor {
 public:
  lingering(event& goes, event& may_go) : goes_(goes), may_go_(may_go) {}
  ~lingering() {
    goes_.set();
    may_go_.wait();
  }
  void on(const fail& m) { throw std::runtime_error(m.why); }

 private:
  event& goes_;
  event& may_go_;
};

// It would have come back when its end began; by now its supervisor has given it up, and does not
// hear it any more.
TEST(restart, does_not_follow_if_the_supervisor_has_given_up_the_child) {
  event goes, may_go, stops, may_stop;
  script a("a");
  a.at_stop = [&] {
    stops.set();
    may_stop.wait();
  };
  recorder told;
  troupe::system system(told.options());
  const auto head = system.spawn<supervisor>(
      at_once,
      child_spec(child<pupil>("a", std::ref(a)).stop_timeout(1h).options({.where = own_thread})),
      child_spec(child<lingering>("b", std::ref(goes), std::ref(may_go))
                     .stop_timeout(1ms)
                     .options({.where = own_thread})));
  const auto lingers = head.ask<find_child<lingering>>(patience, "b").get().value();
  lingers.send(fail{"why not"});
  ASSERT_TRUE(goes.wait());
  head.stop();
  EXPECT_TRUE(stops.wait()) << "the other one's turn to end comes when this one is given up";
  may_go.set();
  EXPECT_TRUE(lingers.join_for(patience).has_value());
  may_stop.set();
  EXPECT_EQ(head.join(), exit_reason::failed);
}

TEST(dynamic_supervisor, ignores_the_termination_of_an_abandoned_child) {
  event hangs, may_go, stops, may_stop;
  script a("a");
  script b("b");
  b.at_stop = [&] {
    stops.set();
    may_stop.wait();
  };
  recorder told;
  troupe::system system(told.options());
  const auto head = system.spawn<dynamic_supervisor<pupil>>(at_once);
  const auto start = [&](script& does, duration most) {
    return head
        .ask<start_child<pupil>>(patience, child_spec(child<pupil>(does.name, std::ref(does))
                                                          .stop_timeout(most)
                                                          .options({.where = own_thread})))
        .get()
        .value();
  };
  const auto count = [&] { return head.ask<count_children>(patience).get().value(); };
  const auto left = start(a, 1ms);
  (void)start(b, 1h);
  left.send(std::function<void(pupil&)>([&](pupil&) {
    hangs.set();
    may_go.wait();
  }));
  ASSERT_TRUE(hangs.wait());
  head.stop();
  ASSERT_TRUE(stops.wait());
  ASSERT_TRUE(eventually([&] { return count() == 1; })) << "it is left behind";
  may_go.set();
  EXPECT_EQ(left.join(), exit_reason::stopped_now);
  EXPECT_EQ(count(), 1u);
  may_stop.set();
  EXPECT_EQ(head.join(), exit_reason::failed);
}

}  // namespace
}  // namespace troupe::test
