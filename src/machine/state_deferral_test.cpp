// SPDX-License-Identifier: Apache-2.0
// Messages that wait for a change of state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

struct in_deferral {};
struct item {
  int n = 0;
  counted<in_deferral> alive = {};
};
struct unlock {};
struct lock {};
struct swap_shut {};
struct query {};

class gate : public state_machine<gate> {
 public:
  explicit gate(journal& log) : log_(log) {}
  static constexpr std::size_t max_deferred = 10;

  struct shut : state {
    using defers = troupe::messages<item>;
  };
  struct barred : state {
    using unhandled = deferred;
  };
  struct ajar : in<barred> {};
  struct open : state {};
  using states = troupe::states<shut, barred, ajar, open>;
  using messages = troupe::messages<item, unlock, lock, swap_shut, query>;

  to<open> on(shut, unlock) { return {}; }
  to<open> on(barred, unlock) { return {}; }
  to<barred> on(shut, swap_shut) { return {}; }
  to<shut> on(barred, swap_shut) { return {}; }
  to<shut> on(open, lock) { return {}; }
  void on(barred, query) { log_.write("query in barred"); }
  void on(open, query) { log_.write("query in open"); }

  /// A negative one shuts the gate.
  to<shut, stay> on(open, const item& m, address from) {
    log_.write(std::to_string(m.n) + (from ? " from an actor" : ""));
    if (m.n < 0) return shut{};
    return stay{};
  }
  void on_unhandled(std::string_view in_state, std::string_view) {
    log_.write("unhandled in " + std::string(in_state));
  }

 private:
  journal& log_;
};

class state_deferral : public ::testing::Test {
 protected:
  void send_items(int from, int to) {
    for (int n = from; n <= to; ++n) gate_.send(item{n});
  }

  journal log_;
  stage stage_;
  ref<gate> gate_ =
      stage_.spawn<gate>(spawn_options{.max_messages = 12, .on_full = overflow::refuse}, log_);
};

TEST_F(state_deferral, lasts_until_the_next_state_change_and_preserves_order) {
  send_items(1, 2);
  stage_.play();
  EXPECT_THAT(log_.lines(), IsEmpty());
  gate_.send(unlock{});
  gate_.send(item{3});
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("1", "2", "3"));
}

TEST_F(state_deferral, continues_if_the_next_state_defers_the_message_as_well) {
  send_items(1, 2);
  gate_.send(swap_shut{});
  gate_.send(item{3});
  gate_.send(swap_shut{});
  gate_.send(item{4});
  stage_.play();
  EXPECT_THAT(log_.lines(), IsEmpty());
  gate_.send(unlock{});
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("1", "2", "3", "4"));
}

TEST_F(state_deferral, preserves_order_if_a_redelivered_message_changes_the_state) {
  send_items(1, 1);
  gate_.send(item{-2});
  send_items(3, 4);
  gate_.send(unlock{});
  gate_.send(item{5});
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("1", "-2"));
  gate_.send(unlock{});
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("1", "-2", "3", "4", "5"));
}

TEST_F(state_deferral, can_cover_all_messages_that_no_active_state_handles) {
  gate_.send(swap_shut{});
  gate_.send(item{1});  // in ajar, within barred
  gate_.send(lock{});
  gate_.send(query{});
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("query in barred"));
  gate_.send(unlock{});
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("query in barred", "1")) << "and it is shut again";
  gate_.send(query{});
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("query in barred", "1", "unhandled in shut"));
}

TEST_F(state_deferral, keeps_the_sender) {
  const auto p = stage_.spawn<probe>(log_);
  p.send(call{[&](probe&) { gate_.send(item{1}); }});
  stage_.play();
  gate_.send(unlock{});
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("1 from an actor"));
}

TEST_F(state_deferral, is_of_messages_of_timers_too) {
  gate_.send_after(1us, item{1});
  ASSERT_TRUE(eventually([&] {
    stage_.play();
    return stage_.system.statistics().timers_armed == 0;
  }));
  gate_.send(item{2});
  stage_.play();
  gate_.send(unlock{});
  gate_.send(item{3});
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("1", "2", "3"));
}

TEST_F(state_deferral, is_limited_and_messages_beyond_the_limit_are_unhandled) {
  send_items(1, 12);
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("unhandled in shut", "unhandled in shut"));
  gate_.send(unlock{});
  stage_.play();
  EXPECT_THAT(log_.lines(), SizeIs(12));
  EXPECT_EQ(log_.lines().back(), "10");
  EXPECT_EQ(counted<in_deferral>::alive(), 0);
  gate_.send(lock{});
  send_items(1, 10);
  stage_.play();
  gate_.send(unlock{});
  stage_.play();
  EXPECT_THAT(log_.lines(), SizeIs(22)) << "a change of state makes room";
}

TEST_F(state_deferral, leaves_a_message_charged_to_the_mailbox) {
  send_items(1, 10);
  stage_.play();
  EXPECT_EQ(gate_.send(lock{}), delivery::accepted);
  EXPECT_EQ(gate_.send(lock{}), delivery::accepted);
  EXPECT_EQ(gate_.send(lock{}), delivery::refused) << "ten wait, and two";
  stage_.play();
  EXPECT_EQ(gate_.send(unlock{}), delivery::accepted);
  stage_.play();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(gate_.send(query{}), delivery::accepted);
}

// Its mailbox is full of deferred messages: it must not search for room forever.
TEST(state_deferral_of_a_full_mailbox, suspends_senders_and_resumes_them) {
  journal log;
  stage s;
  const auto g = s.spawn<gate>(spawn_options{.max_messages = 4}, log);
  const auto p = s.spawn<probe>(log);
  p.send(call{[&](probe&) {
    for (int n = 1; n <= 4; ++n) EXPECT_EQ(g.send(item{n}), delivery::accepted);
    EXPECT_EQ(g.send(item{5}), delivery::paused);
  }});
  p.send(note{"goes on"});
  s.play();
  EXPECT_THAT(log.lines(), Not(::testing::Contains("goes on")));
  const auto other = s.spawn<probe>(log);
  other.send(call{[&](probe&) { g.send(unlock{}); }});
  ASSERT_TRUE(eventually([&] {
    s.play();
    return log.lines().size() == 6;
  }));
}

TEST_F(state_deferral, ends_with_the_actor_as_dead_letters) {
  const auto p = stage_.spawn<probe>(log_);
  p.send(call{[&](probe& me) { me.watch(gate_); }});
  send_items(1, 3);
  stage_.play();
  EXPECT_EQ(counted<in_deferral>::alive(), 3);
  gate_.stop();
  std::size_t unhandled = 0;
  stage_.play();
  p.send(call{[&](probe& me) { unhandled = me.last_down.unhandled; }});
  stage_.play();
  EXPECT_EQ(unhandled, 3u);
  EXPECT_THAT(stage_.told.dead_letters(), SizeIs(3));
  EXPECT_EQ(counted<in_deferral>::alive(), 0);
}

struct nap {};

struct blink {};
class sleeper : public state_machine<sleeper> {
 public:
  explicit sleeper(journal& log) : log_(log) {}
  static constexpr std::size_t max_deferred = 3;

  struct shut : state {
    using defers = troupe::messages<item>;
  };
  struct open : state {};
  using states = troupe::states<shut, open>;
  using messages = troupe::messages<item, nap, blink, unlock>;

  exclusive_task<> on(shut, nap) {
    co_await sleep_for(1ms);
    log_.write("has slept");
  }
  exclusive_task<> on(shut, blink) { co_return; }
  to<open> on(shut, unlock) { return {}; }
  void on(open, const item& m) { log_.write(std::to_string(m.n)); }
  void on_unhandled(std::string_view, std::string_view) { log_.write("unhandled"); }

 private:
  journal& log_;
};

TEST(state_deferral_and_exclusive_handlers, do_not_disturb_each_other) {
  journal log;
  system s{{.workers = 1}};
  const auto m = s.spawn<sleeper>(log);
  m.send(item{1});
  m.send(item{2});
  m.send(nap{});
  m.send(item{3});
  m.send(nap{});
  m.send(item{4});
  m.send(unlock{});
  ASSERT_TRUE(log.wait_for(6));
  EXPECT_THAT(log.lines(), ElementsAre("has slept", "has slept", "unhandled", "1", "2", "3"));
}

class dozer : public state_machine<dozer> {
 public:
  explicit dozer(journal& log) : log_(log) {}
  struct shut : state {
    using defers = troupe::messages<item>;
  };
  struct open : state {};
  using states = troupe::states<shut, open>;
  using messages = troupe::messages<item, nap, unlock>;

  exclusive_task<> on(shut, nap) { return doze(); }
  exclusive_task<> on(open, nap) { return doze(); }
  to<open> on(shut, unlock) { return {}; }
  void on(open, const item& m) { log_.write(std::to_string(m.n)); }

 private:
  exclusive_task<> doze() {
    co_await sleep_for(1ms);
    log_.write("has slept");
  }

  journal& log_;
};

// Deferred messages come back in front of others that an exclusive handler has stashed. All of them
// stay counted: each fixture checks that at the end.
TEST(state_deferral_and_exclusive_handlers, alternate) {
  journal log;
  system s{{.workers = 1}};
  const auto m = s.spawn<dozer>({.max_messages = 16}, log);
  m.send(nap{});
  m.send(item{1});
  m.send(nap{});
  m.send(unlock{});
  m.send(item{2});
  m.send(nap{});
  m.send(item{3});
  m.send(nap{});
  m.send(item{4});
  ASSERT_TRUE(log.wait_for(8));
  EXPECT_THAT(log.lines(),
              ElementsAre("has slept", "has slept", "1", "2", "has slept", "3", "has slept", "4"));
  m.stop();
  EXPECT_EQ(m.join(), exit_reason::stopped);
}

// A machine that never waits leaves deferred messages where they are, and counted.
TEST(state_deferral_and_exclusive_handlers, that_do_not_wait_defer_no_more_than_the_limit) {
  journal log;
  stage on;
  const auto m = on.spawn<sleeper>(log);
  for (int i = 1; i <= 3; ++i) {
    m.send(item{i});
    m.send(blink{});
  }
  on.play();
  EXPECT_THAT(log.lines(), IsEmpty());
  m.send(item{4});
  m.send(blink{});
  m.send(item{5});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("unhandled", "unhandled"));
  m.send(unlock{});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("unhandled", "unhandled", "1", "2", "3"));
}

// ── Under load ────────────────────────────────────────────────────────────────────────────────

struct parcel {
  int sender;
  int number;
  counted<in_deferral> alive = {};
};
struct toggle {};
struct open_for_good {};

class depot : public state_machine<depot> {
 public:
  depot(std::vector<int>& next, atomic<int>& handled) : next_(next), handled_(handled) {}
  static constexpr std::size_t max_deferred = 1'000'000;

  struct shut : state {
    using defers = troupe::messages<parcel>;
  };
  struct open : state {};
  struct open_always : state {};
  using states = troupe::states<shut, open, open_always>;
  using messages = troupe::messages<parcel, toggle, open_for_good>;

  to<open> on(shut, toggle) { return {}; }
  to<shut> on(open, toggle) { return {}; }
  to<open_always> on(open_for_good) { return {}; }
  void on(open, const parcel& m) { take(m); }
  void on(open_always, const parcel& m) { take(m); }

 private:
  void take(const parcel& m) {
    int& next = next_[static_cast<std::size_t>(m.sender)];
    EXPECT_EQ(m.number, next) << "of sender " << m.sender;
    next = m.number + 1;
    ++handled_;
  }

  std::vector<int>& next_;
  atomic<int>& handled_;
};

TEST(state_deferral_under_load, loses_nothing_and_keeps_the_order_of_each_sender) {
  constexpr int senders = 3;
  constexpr int parcels = sanitized ? 1'000 : 10'000;
  std::vector<int> next(senders, 0);
  atomic<int> handled{0};
  {
    system s{{.workers = 2}};
    const auto d = s.spawn<depot>(spawn_options{.max_messages = no_limit, .max_bytes = no_limit},
                                  next, handled);
    std::vector<std::thread> threads;
    for (int n = 0; n < senders; ++n) {
      threads.emplace_back([&d, n] {
        for (int i = 0; i < parcels; ++i) {
          d.send(parcel{n, i});
          if (i % 7 == n) d.send(toggle{});
        }
      });
    }
    for (std::thread& each : threads) each.join();
    d.send(open_for_good{});
    d.stop();
    EXPECT_EQ(d.join(), exit_reason::stopped);
  }
  EXPECT_EQ(handled.load(), senders * parcels);
  EXPECT_EQ(counted<in_deferral>::alive(), 0);
}

// ── Questions ─────────────────────────────────────────────────────────────────────────────────

struct withdraw {
  int amount;
};
struct balance {};
struct promise_it {};
struct settle_it {};
struct start_up {};
struct never_here {};

class account : public state_machine<account> {
 public:
  struct starting : state {
    using defers = troupe::messages<withdraw>;
  };
  struct ready : state {};
  struct owing : in<ready> {};
  struct broken : state {
    using unhandled = fails;
  };
  using states = troupe::states<starting, ready, owing, broken>;
  using messages =
      troupe::messages<withdraw, balance, promise_it, settle_it, start_up, never_here, std::string>;

  to<ready> on(starting, start_up) { return {}; }
  std::pair<bool, to<broken, stay>> on(ready, withdraw m) {
    left_ -= m.amount;
    if (left_ < 0) return {false, broken{}};
    return {true, stay{}};
  }
  int on(ready, balance, address) { return left_; }
  task<int> on(starting, balance) { co_return -1; }
  to<owing> on(ready, promise_it, reply<std::string> owed) {
    owed_ = std::move(owed);
    return {};
  }
  void on(owing, settle_it) { owed_.set_value("settled"); }
  int on(broken, never_here) { return 0; }
  void on(std::string&& text, reply<std::size_t> owed) { owed.set_value(text.size()); }

 private:
  int left_ = 10;
  reply<std::string> owed_;
};

class state_machine_request : public ::testing::Test {
 protected:
  system system_{{.workers = 1, .on_failure = [](const failure&) {}}};
  ref<account> account_ = system_.spawn<account>();
};

TEST_F(state_machine_request, gets_the_handlers_result_or_a_later_reply) {
  EXPECT_EQ(account_.ask<balance>(patience).get().value(), -1) << "a coroutine";
  account_.send(start_up{});
  EXPECT_EQ(account_.ask<balance>(patience).get().value(), 10);
  EXPECT_TRUE(account_.ask<withdraw>(patience, 3).get().value());
  EXPECT_EQ(account_.ask<balance>(patience).get().value(), 7);
  auto promised = account_.ask<promise_it>(patience);
  account_.send(settle_it{});
  EXPECT_EQ(std::move(promised).get().value(), "settled");
  EXPECT_EQ(account_.ask<std::string>(patience, "four").get().value(), 4u) << "the actor's own";
  EXPECT_FALSE(account_.ask<withdraw>(patience, 8).get().value()) << "and it changes the state";
  EXPECT_EQ(account_.ask<never_here>(patience).get().value(), 0);
}

TEST_F(state_machine_request, that_is_deferred_gets_its_reply_when_it_is_handled) {
  auto first = account_.ask<withdraw>(patience, 3);
  auto second = account_.ask<withdraw>(patience, 8);
  EXPECT_FALSE(first.wait_for(5ms));
  account_.send(start_up{});
  EXPECT_TRUE(first.get().value());
  EXPECT_FALSE(second.get().value());
}

TEST_F(state_machine_request, that_no_state_handles_is_unanswered_at_once) {
  EXPECT_EQ(account_.ask<never_here>(patience).get().error(), ask_error::unanswered);
  account_.stop();
  account_.join();
}

TEST_F(state_machine_request, that_fails_the_actor_has_failed) {
  account_.send(start_up{});
  account_.send(withdraw{11});
  EXPECT_EQ(account_.ask<balance>(patience).get().error(), ask_error::failed);
  EXPECT_EQ(account_.join(), exit_reason::failed);
}

TEST_F(state_machine_request, that_is_pending_when_the_actor_terminates_gets_an_error) {
  auto asked = account_.ask<withdraw>(patience, 3);
  account_.stop();
  EXPECT_FALSE(asked.get().has_value());
}

// ── High messages ─────────────────────────────────────────────────────────────────────────────

struct warning {
  static constexpr auto priority = troupe::priority::high;
  int n;
};

/// Sends itself the third warning when it opens, so that it is newer than the deferred ones.
class siren : public state_machine<siren> {
 public:
  explicit siren(journal& log) : log_(log) {}
  struct shut : state {
    using defers = troupe::messages<warning>;
  };
  struct open : state {};
  using states = troupe::states<shut, open>;
  using messages = troupe::messages<warning, unlock, query>;

  int on(query) { return 0; }
  to<open> on(shut, unlock) {
    self(this).send(warning{3});
    return {};
  }
  void on(open, const warning& m) { log_.write(std::to_string(m.n)); }

 private:
  journal& log_;
};

TEST_F(state_deferral, keeps_high_messages_before_newer_ones) {
  for (const auto& options :
       {spawn_options{}, spawn_options{.max_messages = 8, .on_full = overflow::drop_oldest}}) {
    journal log;
    troupe::system all({.workers = 1});
    const auto it = all.spawn<siren>(options, log);
    it.send(warning{1});
    it.send(warning{2});
    ASSERT_TRUE(it.ask<query>(patience).get()) << "both are deferred";
    it.send(unlock{});
    it.stop();
    it.join();
    EXPECT_THAT(log.lines(), ElementsAre("1", "2", "3"));
  }
}

}  // namespace
}  // namespace troupe::test
