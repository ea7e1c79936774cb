// SPDX-License-Identifier: Apache-2.0
// Names: registration, lifetime, and notifications.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/supervision/registry.hpp>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/no_memory_test_support.hpp"
#include "actor/test_support.hpp"

namespace troupe::test {

struct deposit {
  long cents;
};
struct withdraw {
  long cents;
};
struct question {};
struct ask_for {
  std::string name;
};

// Declares its messages, so that it can also be found by a message type.
class account : public actor {
 public:
  using messages = troupe::messages<deposit, withdraw>;
  explicit account(journal& log) : log_(log) {}
  void on(deposit m) { log_.write("deposit " + std::to_string(m.cents)); }
  void on(withdraw m) { log_.write("withdraw " + std::to_string(m.cents)); }

 private:
  journal& log_;
};

class clerk : public actor {
 public:
  explicit clerk(journal& log) : log_(log) {}
  void on(const ask_for& m) { registry(system()).notify_on_register(m.name, self(this)); }
  void on(const name_registered& m) { log_.write(m.name), who = m.who; }

  address who;

 private:
  journal& log_;
};

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using outcome = registration::outcome;

struct seen {
  journal log;
};
struct theatre : seen, stage {
  troupe::registry names{system};
};

TEST(registry, finds_a_registered_actor) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  EXPECT_TRUE(t.names.add("bank/alice", a));
  const auto found = t.names.find<account>("bank/alice");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, a);
  EXPECT_EQ(found.value(), a);
  EXPECT_EQ(t.names.find_address("bank/alice"), a.address());
}

TEST(registry, reports_that_a_name_is_not_registered) {
  theatre t;
  const auto found = t.names.find<account>("bank/bob");
  EXPECT_FALSE(found);
  EXPECT_EQ(found.error(), not_found::not_there);
  EXPECT_THAT(found.message(), HasSubstr("\"bank/bob\" is not registered"));
  EXPECT_FALSE(*found);
  EXPECT_EQ(t.names.find_address("bank/bob"), address{});
}

TEST(registry, reports_that_a_name_belongs_to_an_actor_of_another_class) {
  theatre t;
  const auto c = t.spawn<clerk>(t.log);
  ASSERT_TRUE(t.names.add("bank/alice", c));
  const auto found = t.names.find<account>("bank/alice");
  EXPECT_EQ(found.error(), not_found::another_type);
  EXPECT_THAT(found.message(), AllOf(HasSubstr("clerk, not"), HasSubstr("account")));
  EXPECT_THROW((void)found.value(), name_error);
}

TEST(registry, finds_an_actor_by_the_messages_that_it_handles) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  ASSERT_TRUE(t.names.add("bank/alice", a));
  const auto both = t.names.find_recipient<withdraw, deposit>("bank/alice");
  ASSERT_TRUE(both);
  both->send(withdraw{5});
  both->send(deposit{3});
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("withdraw 5", "deposit 3"));
}

TEST(registry, reports_messages_that_the_actor_does_not_handle) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  const auto c = t.spawn<clerk>(t.log);
  ASSERT_TRUE(t.names.add("bank/alice", a));
  ASSERT_TRUE(t.names.add("bank/clerk", c));
  const auto question_too = t.names.find_recipient<deposit, question>("bank/alice");
  EXPECT_EQ(question_too.error(), not_found::not_understood);
  EXPECT_THAT(question_too.message(),
              AllOf(HasSubstr("which does not understand"), HasSubstr("question")));
  const auto unsaid = t.names.find_recipient<ask_for>("bank/clerk");
  EXPECT_EQ(unsaid.error(), not_found::not_understood);
  EXPECT_THAT(unsaid.message(), HasSubstr("does not list its message types"));
  EXPECT_EQ(t.names.find_recipient<deposit>("bank/bob").error(), not_found::not_there);
}

TEST(registry, reports_the_holder_of_a_name_that_is_taken) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  const auto b = t.spawn<account>(t.log);
  ASSERT_TRUE(t.names.add("alice", a));
  const registration second = t.names.add("alice", b);
  EXPECT_FALSE(second);
  EXPECT_EQ(second.what, outcome::taken);
  EXPECT_EQ(second.holder, a.address());
  EXPECT_TRUE(t.names.add("alice", a)) << "it has it already";
  EXPECT_EQ(*t.names.find<account>("alice"), a);
}

TEST(registry, does_not_register_a_terminated_actor) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  a.stop();
  t.play();
  EXPECT_EQ(t.names.add("alice", a).what, outcome::ended);
  EXPECT_EQ(t.names.count(), 0u);
}

TEST(registry, does_not_keep_an_actor_alive) {
  theatre t;
  auto a = t.spawn<account>(t.log);
  ASSERT_TRUE(t.names.add("alice", a));
  a = {};
  t.play();
  EXPECT_EQ(t.names.find<account>("alice").error(), not_found::not_there);
  EXPECT_EQ(t.system.statistics().actors_alive, 0u);
}

TEST(registry, releases_a_name_however_its_actor_terminates) {
  theatre t;
  for (const bool elsewhere : {false, true}) {
    for (int how = 0; how < 4; ++how) {
      auto a = elsewhere ? t.system.spawn<probe>(t.log) : t.spawn<probe>(t.log);
      const address who = a;
      ASSERT_TRUE(t.names.add("alice", a));
      ASSERT_TRUE(t.names.add("second name", a));
      if (how == 0) a.stop();
      if (how == 1) a.stop_now();
      if (how == 2) a.send(call{[](probe&) { throw std::runtime_error("broken"); }});
      if (how == 3) a = {};
      t.play();
      ASSERT_TRUE(eventually([&] { return t.names.count() == 0; })) << to_string(who);
    }
  }
}

TEST(registry, removes_a_name_only_for_its_holder) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  const auto b = t.spawn<account>(t.log);
  ASSERT_TRUE(t.names.add("alice", a));
  EXPECT_FALSE(t.names.remove("alice", b)) << "it is another one's";
  EXPECT_TRUE(t.names.remove("alice", a));
  EXPECT_FALSE(t.names.remove("alice", a));
  EXPECT_TRUE(t.names.add("alice", b));
  a.stop();
  t.play();
  EXPECT_EQ(*t.names.find<account>("alice"), b) << "the first one's end does not touch it";
}

TEST(registry, accepts_names_of_1_to_255_bytes) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  const auto c = t.spawn<clerk>(t.log);
  EXPECT_THROW(t.names.add("", a), std::invalid_argument);
  EXPECT_THROW(t.names.add(std::string(256, 'x'), a), std::invalid_argument);
  EXPECT_THROW(t.names.notify_on_register("", c), std::invalid_argument);
  EXPECT_TRUE(t.names.add(std::string(255, 'x'), a));
  EXPECT_TRUE(t.names.add(std::string_view("a\0b", 3), a));
  EXPECT_FALSE(t.names.find<account>("a"));
}

TEST(registry, refuses_actors_of_another_system) {
  theatre t;
  troupe::system other;
  const auto a = other.spawn<account>(t.log);
  EXPECT_THROW(t.names.add("alice", a), std::logic_error);
  EXPECT_TRUE(registry(other).add("alice", a)) << "each system has its own";
  EXPECT_FALSE(t.names.find<account>("alice"));
}

TEST(registry, lists_its_names) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  const auto c = t.spawn<clerk>(t.log);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(t.names.add(std::to_string(i) + "a", a));
  for (int i = 1; i < 40; ++i) ASSERT_TRUE(t.names.remove(std::to_string(i) + "a", a));
  ASSERT_TRUE(t.names.add("clerk", c));
  std::vector<std::string> those;
  for (const named_actor& each : t.names.all()) {
    those.push_back(each.name + " " + std::string(each.type));
    EXPECT_EQ(each.who, each.name == "clerk" ? c.address() : a.address());
  }
  EXPECT_THAT(those, UnorderedElementsAre("0a " + std::string(type_name<account>()),
                                          "clerk " + std::string(type_name<clerk>())));
  EXPECT_EQ(t.names.count(), 2u);
}

// Registers itself under the name when it is notified that its predecessor has terminated.
class heir : public actor {
 public:
  heir(ref<probe> predecessor, journal& log) : predecessor_(std::move(predecessor)), log_(log) {}
  void on_start() { watch(predecessor_); }
  void on(const down&) {
    log_.write(registry(system()).add("king", self(this)) ? "long live the king" : "taken");
  }

 private:
  ref<probe> predecessor_;
  journal& log_;
};

TEST(registry, releases_a_name_before_monitors_are_notified) {
  for (int round = 0; round < (sanitized ? 50 : 300); ++round) {
    journal log;
    journal probes;
    troupe::system all({.workers = 2});
    const auto king = all.spawn<probe>(probes);
    ASSERT_TRUE(registry(all).add("king", king));
    const auto next = all.spawn<heir>(king, log);
    king.stop();
    ASSERT_TRUE(log.wait_for(1));
    ASSERT_THAT(log.lines(), ElementsAre("long live the king"));
    EXPECT_TRUE(registry(all).find<heir>("king"));
  }
}

// ── Waiting for a name ────────────────────────────────────────────────────────────────────────

TEST(registry, notifies_an_actor_at_once_if_the_name_is_registered) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  const auto c = t.spawn<clerk>(t.log);
  ASSERT_TRUE(t.names.add("alice", a));
  t.names.notify_on_register("alice", c);
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("alice"));
}

TEST(registry, notifies_an_actor_once_when_the_name_is_registered) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  const auto c = t.spawn<clerk>(t.log);
  const auto d = t.spawn<clerk>(t.log);
  c.send(ask_for{"alice"});
  c.send(ask_for{"alice"});
  d.send(ask_for{"alice"});
  t.play();
  EXPECT_THAT(t.log.lines(), IsEmpty());
  ASSERT_TRUE(t.names.add("bob", a));
  ASSERT_TRUE(t.names.add("alice", a));
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("alice", "alice")) << "each once";
  ASSERT_TRUE(t.names.remove("alice", a));
  ASSERT_TRUE(t.names.add("alice", a));
  t.play();
  EXPECT_EQ(t.log.lines().size(), 2u);
}

TEST(registry, does_not_notify_an_actor_that_no_longer_waits) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  auto c = t.spawn<clerk>(t.log);
  auto d = t.spawn<clerk>(t.log);
  t.names.notify_on_register("alice", c);
  t.names.notify_on_register("alice", d);
  EXPECT_TRUE(t.names.cancel_notification("alice", c));
  EXPECT_FALSE(t.names.cancel_notification("alice", c));
  EXPECT_FALSE(t.names.cancel_notification("bob", c));
  d = {};
  t.play();
  EXPECT_EQ(t.system.statistics().actors_alive, 2u) << "waiting keeps nobody alive";
  ASSERT_TRUE(t.names.add("alice", a));
  t.play();
  EXPECT_THAT(t.log.lines(), IsEmpty());
  EXPECT_THAT(t.told.dead_letters(), IsEmpty());
}

TEST(registry, lets_a_thread_wait_for_a_name) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  std::thread other([&] {
    const auto found = t.names.wait_for<account>("alice", clock::now() + patience);
    EXPECT_EQ(found.value(), a);
  });
  std::this_thread::yield();
  EXPECT_TRUE(t.names.add("alice", a));
  other.join();
  EXPECT_TRUE(t.names.wait_for<account>("alice", clock::now()));
  EXPECT_EQ(t.names.wait_for<clerk>("alice", time_point::max()).error(), not_found::another_type);
}

TEST(registry, waits_for_a_name_until_the_deadline) {
  theatre t;
  const time_point deadline = clock::now() + 2ms;
  EXPECT_EQ(t.names.wait_for<account>("alice", deadline).error(), not_found::not_there);
  EXPECT_GE(clock::now(), deadline);
}

TEST(registry, refuses_to_block_a_thread_that_other_actors_need) {
  theatre t;
  const auto p = t.spawn<probe>(t.log);
  p.send(call{[](probe& me) {
    EXPECT_THROW((void)registry(me.system()).wait_for<account>("alice", clock::now()),
                 std::logic_error);
  }});
  t.play();
  p.stop();
}

// ── Threads ───────────────────────────────────────────────────────────────────────────────────

TEST(registry, finds_and_reassigns_names_while_their_actors_terminate) {
  constexpr int rounds = sanitized ? 300 : 5'000;
  journal log;
  recorder told;
  atomic<bool> over{false};
  atomic<std::size_t> seen{0};
  troupe::system all(told.options(2));
  const troupe::registry those(all);
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!over) {
        const auto found = those.find<account>("alice");
        if (found) {
          ++seen;
          (void)found->send(deposit{1});
        }
        (void)those.count();
        (void)those.all();
      }
    });
  }
  // Runs until the name was found at least once, however late the readers begin.
  const time_point enough = clock::now() + patience;
  for (int i = 0; i < rounds || (seen == 0 && clock::now() < enough); ++i) {
    auto a = all.spawn<account>(log);
    const bool added = static_cast<bool>(those.add("alice", a));
    EXPECT_EQ(i % 4 == 0 && those.remove("alice", a), i % 4 == 0 && added);
    if (i % 4 == 1) a.stop();
    if (i % 4 == 2) a.stop_now();
  }
  over = true;
  for (std::thread& each : readers) each.join();
  EXPECT_TRUE(all.shutdown(patience).complete());
  EXPECT_EQ(those.count(), 0u);
  EXPECT_GT(seen, 0u);
  EXPECT_EQ(log.lines().size() + told.dead_letters().size(), seen)
      << "who was found has what he was sent, or it is a dead letter";
}

TEST(registry, actors_may_terminate_while_they_wait_for_a_name) {
  constexpr int rounds = sanitized ? 300 : 3'000;
  journal log;
  troupe::system all({.workers = 2});
  const troupe::registry those(all);
  for (int i = 0; i < rounds; ++i) {
    const auto c = all.spawn<clerk>(log);
    const auto d = all.spawn<clerk>(log);
    those.notify_on_register("alice", c);
    d.send(ask_for{"alice"});
    c.stop();
    const auto a = all.spawn<account>(log);
    (void)those.add("alice", a);
    (void)those.cancel_notification("alice", d);
    d.stop();
  }
  EXPECT_TRUE(all.shutdown(patience).complete());
}

TEST(registry, keeps_nothing_of_terminated_actors) {
  constexpr int rounds = sanitized ? 5'000 : 100'000;
  journal log;
  troupe::system all({.workers = 1});
  const troupe::registry those(all);
  for (int i = 0; i < rounds; ++i) {
    const auto a = all.spawn<account>(log);
    EXPECT_TRUE(those.add("account/" + std::to_string(i), a));
  }
  EXPECT_TRUE(eventually([&] { return those.count() == 0; }));
}

TEST(registry, does_not_let_a_terminated_actor_wait_for_a_name) {
  theatre t;
  const auto a = t.spawn<account>(t.log);
  const auto c = t.spawn<clerk>(t.log);
  c.stop();
  t.play();
  for (int i = 0; i < 3; ++i) {
    t.names.notify_on_register("alice", c);
    EXPECT_FALSE(t.names.cancel_notification("alice", c)) << "it does not wait";
  }
  EXPECT_TRUE(t.names.add("alice", a));
  t.play();
  EXPECT_THAT(t.log.lines(), IsEmpty());
}

TEST(registry, does_not_find_an_actor_that_is_terminating) {
  theatre t;
  std::optional<address> at_stop;
  std::optional<address> at_end;
  const auto look = [&](std::optional<address>& into) {
    return [&](probe& me) { into = registry(me.system()).find_address("alice"); };
  };
  const auto p = t.spawn<probe>(t.log, steps{.at_stop = look(at_stop), .at_end = look(at_end)});
  ASSERT_TRUE(t.names.add("alice", p));
  EXPECT_EQ(t.names.find_address("alice"), p.address());
  p.stop();
  t.play();
  EXPECT_EQ(at_stop, address{});
  EXPECT_EQ(at_end, address{});
  EXPECT_TRUE(t.names.add("alice", t.spawn<account>(t.log)));
}

TEST(registry, leaves_a_name_free_if_its_registration_runs_out_of_memory) {
  journal log;
  stage s;
  const registry in(s.system);
  for (std::uint64_t which = 1;; ++which) {
    const auto who = s.spawn<account>(log);
    bool has_failed = false;
    {
      const failing_allocation memory(which);
      try {
        (void)in.add("a", who);
      } catch (const std::bad_alloc&) {
      }
      has_failed = failing_allocation::has_failed();
    }
    if (!has_failed) break;
    EXPECT_EQ(in.count(), 0u) << "after the failure of allocation " << which;
    EXPECT_EQ(in.add("a", who).what, registration::outcome::registered);
    who.stop();
    s.play();
    EXPECT_EQ(in.count(), 0u);
  }
}

}  // namespace
}  // namespace troupe::test
