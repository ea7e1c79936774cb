// SPDX-License-Identifier: Apache-2.0
// Handlers that wait for a name.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/supervision/registry.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

class account : public actor {
 public:
  void on(int) {}
};
class other : public actor {
 public:
  void on(int) {}
};

/// Runs a function of the test as a coroutine handler.
struct work {
  std::function<task<>(class client&)> what;
};
struct exclusive_work {
  std::function<task<>(class client&)> what;
};

class client : public actor {
 public:
  explicit client(journal& to) : log(to) {}
  ~client() { log.write("destroyed"); }
  task<> on(work m) { co_await m.what(*this); }
  exclusive_task<> on(exclusive_work m) { co_await m.what(*this); }
  void on(const note& n) { log.write(n.text); }
  void on(const name_registered& m) { log.write("told of " + m.name); }
  using actor::system;
  [[nodiscard]] self_ref<client> me() { return self(this); }

  journal& log;
};

using lines = std::vector<std::string>;

std::string text(const found<ref<account>>& got) {
  return got ? "found" : got.message().substr(std::string("the name \"a\" ").size());
}

task<> wait_for_a(client& me, duration time = no_timeout) {
  me.log.write(text(co_await registry(me.system()).wait<account>("a", time)));
}

struct office {
  void begin(std::function<task<>(client&)> what) {
    who.send(work{std::move(what)});
    on.play();
  }
  /// Runs only the beginning of the handler. Even if a wait times out at once, its message stays in
  /// the mailbox.
  void begin_alone(std::function<task<>(client&)> what) {
    on.play();
    who.send(work{std::move(what)});
    EXPECT_EQ(on.pump.drain_at_most(1), 1u);
  }
  [[nodiscard]] bool comes(std::size_t count) {
    return eventually([&] {
      on.play();
      return log.lines().size() >= count;
    });
  }

  journal log;
  stage on;
  registry all{on.system};
  ref<client> who = on.spawn<client>(log);
  ref<account> a = on.spawn<account>();
};

TEST(registry_wait, finds_a_registered_actor_at_once) {
  office o;
  o.all.add("a", o.a);
  o.begin([](client& me) -> task<> {
    const auto got = co_await registry(me.system()).wait<account>("a", 50ms);
    me.log.write(text(got) +
                 (*got == registry(me.system()).find<account>("a").value() ? " it" : ""));
  });
  EXPECT_EQ(o.log.lines(), lines{"found it"});
}

TEST(registry_wait, suspends_the_handler_while_the_actor_handles_other_messages) {
  office o;
  o.begin([](client& me) { return wait_for_a(me); });
  o.who.send(note{"meanwhile"});
  o.on.play();
  o.all.add("a", o.a);
  o.on.play();
  EXPECT_EQ(o.log.lines(), (lines{"meanwhile", "found"}));
}

TEST(registry_wait, reports_after_the_timeout_that_the_name_is_not_registered) {
  office o;
  o.begin([](client& me) { return wait_for_a(me, 1ms); });
  ASSERT_TRUE(o.comes(1));
  o.all.add("a", o.a);
  o.on.play();
  EXPECT_EQ(o.log.lines(), lines{"is not registered: register it first, or wait for it"});
}

TEST(registry_wait, finds_a_name_registered_before_the_timeout_is_handled) {
  office o;
  o.begin_alone([](client& me) { return wait_for_a(me, 1ms); });
  ASSERT_TRUE(time_passes(o.on.system));
  o.all.add("a", o.a);
  o.on.play();
  EXPECT_EQ(o.log.lines(), lines{"found"});
}

TEST(registry_wait, reports_at_once_an_actor_of_another_class) {
  office o;
  o.begin([](client& me) { return wait_for_a(me); });
  const auto wrong = o.on.spawn<other>();
  o.all.add("a", wrong);
  o.on.play();
  ASSERT_EQ(o.log.lines().size(), 1u);
  EXPECT_EQ(o.log.lines()[0].find("belongs to an actor of the class"), 0u) << o.log.lines()[0];
}

TEST(registry_wait, keeps_waiting_if_the_registered_actor_terminates_meanwhile) {
  office o;
  o.begin([](client& me) { return wait_for_a(me); });
  {
    const auto brief = o.on.system.spawn<account>();
    o.all.add("a", brief);
    brief.stop();
    (void)brief.join();
  }
  o.on.play();
  EXPECT_EQ(o.log.lines(), lines{});
  o.all.add("a", o.a);
  o.on.play();
  EXPECT_EQ(o.log.lines(), lines{"found"});
}

TEST(registry_wait, serves_several_handlers_and_a_notification_of_one_actor) {
  office o;
  o.begin([](client& me) { return wait_for_a(me); });
  o.begin([](client& me) { return wait_for_a(me, patience); });
  o.begin([](client& me) -> task<> {
    registry(me.system()).notify_on_register("a", me.me());
    co_return;
  });
  o.all.add("a", o.a);
  o.on.play();
  auto got = o.log.lines();
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (lines{"found", "found", "told of a"}));
}

TEST(registry_wait, keeps_the_waiting_actor_alive) {
  office o;
  o.begin([](client& me) { return wait_for_a(me); });
  o.who = {};
  o.on.play();
  EXPECT_EQ(o.log.lines(), lines{});
  o.all.add("a", o.a);
  o.on.play();
  EXPECT_EQ(o.log.lines(), (lines{"found", "destroyed"}));
}

TEST(registry_wait, ends_with_the_actor) {
  office o;
  o.begin([](client& me) { return wait_for_a(me, patience); });
  o.who.stop();
  o.on.play();
  o.all.add("a", o.a);
  o.on.play();
  EXPECT_EQ(o.log.lines(), lines{"destroyed"});
}

TEST(registry_wait, ends_with_an_actor_that_was_already_notified) {
  office o;
  o.begin([](client& me) { return wait_for_a(me); });
  o.all.add("a", o.a);
  o.who.stop_now();
  o.on.play();
  EXPECT_EQ(o.log.lines(), lines{"destroyed"});
  EXPECT_TRUE(o.on.told.dead_letters().empty());
}

TEST(registry_wait, resumes_an_exclusive_handler) {
  office o;
  o.who.send(exclusive_work{[](client& me) { return wait_for_a(me); }});
  o.who.send(note{"after"});
  o.on.play();
  o.all.add("a", o.a);
  o.on.play();
  EXPECT_EQ(o.log.lines(), (lines{"found", "after"}));
}

TEST(registry_wait, throws_for_an_empty_name_and_for_another_system) {
  office o;
  troupe::system elsewhere;
  o.begin([&](client& me) -> task<> {
    try {
      (void)co_await registry(me.system()).wait<account>("", 1ms);
    } catch (const std::invalid_argument&) {
      me.log.write("no name");
    }
    try {
      (void)co_await registry(elsewhere).wait<account>("a", 1s);
    } catch (const std::logic_error&) {
      me.log.write("another system");
    }
  });
  EXPECT_EQ(o.log.lines(), (lines{"no name", "another system"}));
}

// A name moves between actors while handlers wait for it, give up, and terminate.
TEST(registry_wait_stress, tolerates_names_that_are_registered_and_released_concurrently) {
  journal log;
  system s{{.workers = 2}};
  const registry all(s);
  atomic<bool> over{false};
  std::jthread giver([&] {
    while (!over.load(seq_cst)) {
      const auto one = s.spawn<account>();
      all.add("a", one);
      one.stop();
      (void)one.join();
    }
  });
  atomic<int> ended{0};
  const int rounds = sanitized ? 300 : 2'000;
  for (int i = 0; i < rounds; ++i) {
    const auto who = s.spawn<client>(log);
    for (const duration time : {duration{20us}, duration{no_timeout}}) {
      who.send(work{[&ended, time](client& me) -> task<> {
        (void)co_await registry(me.system()).wait<account>("a", time);
        ended.fetch_add(1, relaxed);
      }});
    }
    if (i % 3 == 0) who.stop_now();
  }
  over.store(true, seq_cst);
  giver.join();
  const auto last = s.spawn<account>();
  all.add("a", last);
  EXPECT_TRUE(eventually([&] { return s.statistics().actors_alive == 1; }));
  EXPECT_GE(ended.load(relaxed), rounds / 3 * 2);
}

// ── Callbacks during a notification ───────────────────────────────────────────────────────────

// A pump's callback must not use Troupe because mutexes may be held. This callback does so to show
// that no mutex of the names is held.
TEST(registry, notifies_an_actor_without_holding_a_mutex) {
  journal log;
  troupe::system s({.workers = 1});
  troupe::pump pump(s);
  const auto waits = s.spawn<client>({.where = bound_to(pump)}, log);
  registry(s).notify_on_register("a", waits);
  pump.run_until_idle();
  const auto a = s.spawn<account>();
  int woken = 0;
  pump.on_wakeup([&] {
    ++woken;
    EXPECT_EQ(registry(s).find_address("a"), a.address());
  });
  const int before = woken;
  ASSERT_TRUE(registry(s).add("a", a));
  EXPECT_GT(woken, before);
  pump.on_wakeup({});
  pump.run_until_idle();
  EXPECT_EQ(log.lines(), lines{"told of a"});
}

TEST(registry, notifies_an_actor_at_once_without_holding_a_mutex) {
  journal log;
  troupe::system s({.workers = 1});
  troupe::pump pump(s);
  const auto waits = s.spawn<client>({.where = bound_to(pump)}, log);
  pump.run_until_idle();
  const auto a = s.spawn<account>();
  ASSERT_TRUE(registry(s).add("a", a));
  int woken = 0;
  pump.on_wakeup([&] {
    ++woken;
    EXPECT_EQ(registry(s).find_address("a"), a.address());
  });
  const int before = woken;
  registry(s).notify_on_register("a", waits);
  EXPECT_GT(woken, before);
  pump.on_wakeup({});
  pump.run_until_idle();
  EXPECT_EQ(log.lines(), lines{"told of a"});
}

/// Uses the names when it is destroyed, as does the message that it may not have handled by then.
struct uses_names {
  troupe::system* at;
  atomic<int>* used;
  ~uses_names() {
    if (at == nullptr) return;
    (void)registry(*at).find_address("a");
    (void)registry(*at).remove("a", address{});
    ++*used;
  }
};
class bearer : public actor {
 public:
  bearer(troupe::system& at, atomic<int>& used) : at_end_{&at, &used} {}
  void on(const std::shared_ptr<uses_names>&) {}
  void on(const name_registered&) {}

 private:
  uses_names at_end_;
};

// The threads meet in all orders: each of add(), find(), tell() and remove() has the last reference
// to an actor now and then. A destructor under the mutex of the names waits for itself.
TEST(registry, may_be_used_by_destructors_while_other_threads_modify_it) {
  constexpr int rounds = sanitized ? 300 : 3'000;
  atomic<int> used{0};
  int begun = 0;
  {
    troupe::system s({.workers = 2});
    atomic<bool> is_over{false};
    std::jthread looks([&] {
      while (!is_over) {
        (void)registry(s).find_address("a");
        if (const auto found = registry(s).find<bearer>("a")) {
          (void)registry(s).remove("a", found->address());
        }
      }
    });
    std::jthread waits([&] {
      while (!is_over) {
        const auto one = s.spawn<bearer>(s, used);
        registry(s).notify_on_register("a", one);
        ++begun;
        if (begun % 2 == 0) (void)registry(s).cancel_notification("a", one.address());
      }
    });
    for (int i = 0; i < rounds; ++i) {
      auto one = s.spawn<bearer>(s, used);
      (void)registry(s).add("a", one);
      one.send(std::make_shared<uses_names>(&s, &used));
      i % 2 == 0 ? one.stop_now() : one.stop();
      one = {};
    }
    is_over = true;
    looks.join();
    waits.join();
    begun += 2 * rounds;
    EXPECT_TRUE(eventually([&] { return s.statistics().actors_alive == 0; }));
    EXPECT_EQ(registry(s).count(), 0u);
  }
  EXPECT_EQ(used, begun) << "each was destroyed, and none waits";
}

}  // namespace
}  // namespace troupe::test
