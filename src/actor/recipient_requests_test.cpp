// SPDX-License-Identifier: Apache-2.0
// Requests through a recipient, which names the reply but not the class of the actor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <troupe/troupe.hpp>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ask_test_support.hpp"
#include "no_memory_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

struct deposit {
  std::int64_t cents;
};
struct get_balance {};
struct owner {
  std::string prefix;
};
struct close_account {};

class account : public actor {
 public:
  void on(deposit m) { cents_ += m.cents; }
  std::int64_t on(get_balance) { return cents_; }
  task<std::string> on(owner m) { co_return m.prefix + "alice"; }
  exclusive_task<bool> on(close_account) { co_return cents_ == 0; }
  bool on(add m, address sender) { return m.a == m.b && static_cast<bool>(sender); }
  void on(answer_later, reply<int> owed) { owed_ = std::move(owed); }
  int on(break_down) { throw std::runtime_error("broken"); }

 private:
  std::int64_t cents_ = 0;
  reply<int> owed_;
};

using bank = recipient<deposit, std::int64_t(get_balance), std::string(owner), bool(close_account),
                       int(answer_later), int(break_down), bool(add)>;

TEST(recipient, asks_with_each_kind_of_handler) {
  recorder told;
  troupe::system system(told.options());
  const bank to = system.spawn<account>();
  to.send(deposit{40});
  static_assert(std::is_same_v<decltype(to.ask<get_balance>(1s)), ask_future<std::int64_t>>);
  EXPECT_EQ(to.ask<get_balance>(patience).get().value(), 40);
  EXPECT_EQ(to.ask(patience, get_balance{}).get().value(), 40);
  EXPECT_EQ(to.ask<owner>(patience, "of ").get().value(), "of alice");
  EXPECT_FALSE(to.ask<close_account>(patience).get().value());
  EXPECT_FALSE(to.ask<add>(patience, 1, 1).get().value()) << "a thread has no address";
  EXPECT_EQ(to.ask<break_down>(patience).get().error(), ask_error::failed);
}

TEST(recipient, a_request_tells_the_handler_which_actor_asks) {
  talk t;
  const recipient<bool(add)> to = t.on.system.spawn<account>();
  t.begin([to](asker_actor& me) -> task<> {
    const auto same = co_await to.ask<add>(patience, 1, 1);
    me.log.write(same && *same ? "known" : "unknown");
  });
  ASSERT_TRUE(t.log.wait_for(1));
  EXPECT_THAT(t.log.lines(), ElementsAre("known"));
}

TEST(recipient, requests_are_awaited_and_continued_as_those_of_a_ref) {
  talk t;
  const recipient<int(add), std::string(greet)> to = t.it;
  t.begin([to](asker_actor& me) -> task<> {
    const auto sum = co_await to.ask<add>(patience, 1, 2);
    me.log.write(std::to_string(*sum));
    to.ask<greet>(patience, "you").then([&me](ask_result<std::string> said) {
      me.log.write(*said);
    });
    auto [one, two] =
        co_await all(patience, to.ask<add>(no_timeout, 1, 1), to.ask<greet>(no_timeout, "all"));
    me.log.write(std::to_string(*one) + *two);
  });
  ASSERT_TRUE(t.log.wait_for(3));
  EXPECT_THAT(t.log.lines(), testing::UnorderedElementsAre("3", "hello you", "2hello all"));
}

TEST(recipient, narrows_requests_and_messages_in_any_order) {
  recorder told;
  troupe::system system(told.options());
  const bank wide = system.spawn<account>();
  const recipient<std::string(owner), deposit> some = wide;
  const recipient<std::string(owner)> one = some;
  some.send(deposit{1});
  EXPECT_EQ(one.ask<owner>(patience, "").get().value(), "alice");
  const recipient<std::int64_t(get_balance)> other = wide;
  EXPECT_EQ(other.ask<get_balance>(patience).get().value(), 1);
  EXPECT_EQ(other, recipient<std::int64_t(get_balance)>(wide));
}

TEST(recipient, lists_a_message_as_sent_and_as_asked) {
  journal log;
  class clerk : public actor {
   public:
    explicit clerk(journal& to) : log_(to) {}
    int on(add m) {
      log_.write("add");
      return m.a + m.b;
    }

   private:
    journal& log_;
  };
  recorder told;
  troupe::system system(told.options());
  const recipient<add, int(add)> to = system.spawn<clerk>(log);
  EXPECT_EQ(to.send(add{1, 1}), delivery::accepted);
  EXPECT_EQ(to.ask<add>(patience, 2, 2).get().value(), 4);
  EXPECT_THAT(log.lines(), ElementsAre("add", "add"));
}

TEST(recipient, passes_a_request_on) {
  class desk : public actor {
   public:
    explicit desk(recipient<int(add)> behind) : behind_(std::move(behind)) {}
    void on(add m, reply<int> owed) { (void)behind_.pass_on<add>(std::move(owed), m.a, m.b); }

   private:
    const recipient<int(add)> behind_;
  };
  recorder told;
  troupe::system system(told.options());
  const recipient<int(add)> front = system.spawn<desk>(system.spawn<oracle>());
  EXPECT_EQ(front.ask<add>(patience, 3, 4).get().value(), 7);
}

TEST(recipient, is_made_from_self_and_carries_requests) {
  class twice : public actor {
   public:
    recipient<int(add)> on(owner) { return self(this); }
    int on(add m) { return 2 * (m.a + m.b); }
  };
  recorder told;
  troupe::system system(told.options());
  const auto me = system.spawn<twice>();
  const auto own = me.ask<owner>(patience, "").get().value();
  EXPECT_EQ(own.ask<add>(patience, 1, 2).get().value(), 6);
}

// ── Errors ────────────────────────────────────────────────────────────────────────────────────

TEST(recipient, a_request_times_out_and_the_late_reply_is_counted) {
  stage s;
  const recipient<int(answer_later), answer_now> to = s.spawn<oracle>();
  EXPECT_EQ(to.ask<answer_later>(1ms).get().error(), ask_error::timeout);
  to.send(answer_now{3});
  s.play();
  EXPECT_EQ(s.system.statistics().answers_late, 1u);
}

TEST(recipient, a_request_ends_with_its_actor) {
  stage s;
  const auto it = s.spawn<account>();
  const recipient<int(answer_later), std::int64_t(get_balance)> to = it;
  auto kept = to.ask<answer_later>(patience);
  s.play();
  auto waits = to.ask<get_balance>(patience);
  it.stop_now();
  s.play();
  EXPECT_EQ(kept.get().error(), ask_error::stopped);
  EXPECT_EQ(waits.get().error(), ask_error::stopped);
  EXPECT_EQ(to.ask<get_balance>(patience).get().error(), ask_error::stopped);
}

TEST(recipient, a_request_pending_at_shutdown_gets_an_error) {
  recorder told;
  troupe::system system(told.options());
  const recipient<int(answer_later)> to = system.spawn<account>();
  auto kept = to.ask<answer_later>(patience);
  EXPECT_TRUE(system.shutdown(patience).complete());
  EXPECT_EQ(kept.get().error(), ask_error::stopped);
  EXPECT_EQ(to.ask<answer_later>(patience).get().error(), ask_error::stopped);
}

struct full_mailbox {
  explicit full_mailbox(overflow on_full) {
    spawn_options narrow = {
        .where = bound_to(s.pump), .max_messages = 1, .on_full = std::move(on_full)};
    to = s.system.spawn<account>(narrow);
  }
  stage s;
  recipient<deposit, std::int64_t(get_balance)> to;
};

TEST(recipient, a_request_to_a_full_mailbox_is_subject_to_the_policy) {
  {
    full_mailbox refuses(overflow::refuse);
    refuses.to.send(deposit{1});
    EXPECT_EQ(refuses.to.ask<get_balance>(patience).get().error(), ask_error::refused);
  }
  {
    full_mailbox drops(overflow::drop_newest);
    drops.to.send(deposit{1});
    EXPECT_EQ(drops.to.ask<get_balance>(patience).get().error(), ask_error::refused);
  }
  {
    full_mailbox drops(overflow::drop_oldest);
    auto first = drops.to.ask<get_balance>(patience);
    drops.to.send(deposit{1});
    EXPECT_EQ(first.get().error(), ask_error::refused) << "it was the oldest";
  }
  {
    full_mailbox fails(overflow::fail_receiver);
    fails.to.send(deposit{1});
    EXPECT_EQ(fails.to.ask<get_balance>(patience).get().error(), ask_error::refused);
    fails.s.play();
    EXPECT_EQ(fails.to.join(), exit_reason::failed);
  }
  {
    stage s;
    const auto next = s.system.spawn<account>();
    const spawn_options narrow = {
        .where = bound_to(s.pump), .max_messages = 1, .on_full = overflow::redirect_to(next)};
    const recipient<deposit, std::int64_t(get_balance)> to = s.system.spawn<account>(narrow);
    to.send(deposit{1});
    EXPECT_EQ(to.ask<get_balance>(patience).get().value(), 0) << "the other account has replied";
  }
}

TEST(recipient, a_request_to_a_full_mailbox_suspends_its_actor_with_backpressure) {
  journal log;
  full_mailbox full(overflow::backpressure);
  const auto who = full.s.spawn<asker_actor>(log);
  who.send(work{[to = full.to](asker_actor& me) -> task<> {
    to.send(deposit{1});
    const auto got = co_await to.ask<get_balance>(patience);
    me.log.write(std::to_string(*got));
  }});
  full.s.play();
  EXPECT_THAT(log.lines(), ElementsAre("1"));
  EXPECT_GE(full.s.system.statistics().pauses, 1u);
}

TEST(recipient, a_failed_allocation_of_a_request_leaves_nothing_behind) {
  stage s;
  const recipient<std::int64_t(get_balance)> to = s.spawn<account>();
  std::vector<ask_future<std::int64_t>> made;
  made.reserve(1);
  const std::uint64_t failed = with_each_allocation_failing(
      [&] { made.push_back(to.ask<get_balance>(patience)); }, [&] { EXPECT_TRUE(made.empty()); });
  EXPECT_GE(failed, 1u);
  ASSERT_EQ(made.size(), 1u);
  s.play();
  EXPECT_EQ(made.front().get().value(), 0);
  EXPECT_EQ(s.system.statistics().messages_waiting, 0u);
}

// ── Function actors ───────────────────────────────────────────────────────────────────────────

TEST(function_actor, receives_requests_and_replies) {
  recorder told;
  troupe::system system(told.options());
  const auto to = system.spawn<deposit, std::int64_t(get_balance)>([](context& self) -> task<> {
    std::int64_t cents = 0;
    for (;;) {
      auto m = co_await self.receive<deposit, std::int64_t(get_balance)>();
      if (const auto* more = std::get_if<deposit>(&m)) {
        cents += more->cents;
      } else {
        std::get<received_request<get_balance, std::int64_t>>(m).owed.set_value(cents);
      }
    }
  });
  to.send(deposit{3});
  to.send(deposit{4});
  EXPECT_EQ(to.ask<get_balance>(patience).get().value(), 7);
}

TEST(function_actor, keeps_requests_in_order_until_it_waits_for_them) {
  journal log;
  recorder told;
  troupe::system system(told.options());
  const auto to = system.spawn<note, std::string(owner), int(add)>([&log](context& self) -> task<> {
    const auto first = co_await self.receive<note>();
    log.write(first.text);
    auto asked = co_await self.receive<std::string(owner)>();
    log.write(asked.message.prefix);
    auto sum = co_await self.receive<int(add)>();
    asked.owed.set_value("bob");
    sum.owed.set_value(sum.message.a + sum.message.b);
  });
  auto sum = to.ask<add>(patience, 1, 2);
  auto said = to.ask<owner>(patience, "whose");
  to.send(note{"first"});
  EXPECT_EQ(sum.get().value(), 3);
  EXPECT_EQ(said.get().value(), "bob");
  EXPECT_THAT(log.lines(), ElementsAre("first", "whose"));
}

TEST(function_actor, leaves_requests_unanswered_when_it_drops_them_and_stopped_when_it_returns) {
  recorder told;
  troupe::system system(told.options());
  const auto to = system.spawn<int(add), deposit>([](context& self) -> task<> {
    (void)co_await self.receive<int(add)>();
    (void)co_await self.receive<deposit>();
  });
  EXPECT_EQ(to.ask<add>(patience, 1, 2).get().error(), ask_error::unanswered);
  auto second = to.ask<add>(patience, 1, 2);
  to.send(deposit{1});
  EXPECT_EQ(second.get().error(), ask_error::stopped);
}

TEST(function_actor, that_throws_with_a_request_fails_it) {
  recorder told;
  troupe::system system(told.options());
  const auto to = system.spawn<int(add)>([](context& self) -> task<> {
    const auto asked = co_await self.receive<int(add)>();
    throw std::runtime_error("broken");
  });
  EXPECT_EQ(to.ask<add>(patience, 1, 2).get().error(), ask_error::failed);
  EXPECT_EQ(to.join(), exit_reason::failed);
}

TEST(function_actor, gives_a_handle_for_its_requests) {
  recorder told;
  troupe::system system(told.options());
  event known;
  recipient<int(add)> inner;
  const auto to = system.spawn<int(add)>([&](context& self) -> task<> {
    inner = self.recipient<int(add)>();
    known.set();
    auto asked = co_await self.receive<int(add)>(patience);
    if (asked) asked->owed.set_value(5);
  });
  ASSERT_TRUE(known.wait());
  EXPECT_EQ(inner.ask<add>(patience, 1, 2).get().value(), 5);
}

// ── Wait cycles ───────────────────────────────────────────────────────────────────────────────

struct call_next {
  duration time;
};
struct call_next_later {
  duration time;
};

// Asks the next one exclusively, through a recipient.
class ring_member : public actor {
 public:
  void on(const recipient<std::string(call_next)>& next) { next_ = next; }
  exclusive_task<std::string> on(call_next m) { co_return co_await called(m.time); }
  exclusive_task<std::string> on(call_next_later m) {
    co_await sleep_for(20ms);
    co_return co_await called(m.time);
  }

 private:
  task<std::string> called(duration time) {
    const auto said = co_await next_.ask<call_next>(time, patience);
    co_return said ? *said : said.message();
  }
  recipient<std::string(call_next)> next_;
};

TEST(recipient, a_wait_cycle_of_requests_is_named) {
  recorder told;
  troupe::system system(told.options());
  const auto one = system.spawn<ring_member>({.name = "one"});
  const auto two = system.spawn<ring_member>({.name = "two"});
  one.send(recipient<std::string(call_next)>(two));
  two.send(recipient<std::string(call_next)>(one));
  EXPECT_EQ(one.ask<call_next>(patience, 50ms).get().value(),
            "timeout: one waits for two, which waits for one");
  one.stop_now();
  two.stop_now();
}

// The worker is held up by another request than that of `one`: only its address connects the two.
TEST(recipient, a_wait_cycle_through_a_router_names_the_worker) {
  recorder told;
  troupe::system system(told.options());
  const auto one = system.spawn<ring_member>({.name = "one"});
  const std::vector<ref<ring_member>> workers{system.spawn<ring_member>({.name = "worker"})};
  const router<std::string(call_next)> all(system, workers, round_robin{});
  one.send(recipient<std::string(call_next)>(all));
  workers.front().send(recipient<std::string(call_next)>(one));
  auto first = one.ask<call_next_later>(patience, 50ms);
  const auto other = workers.front().ask<call_next>(patience, patience);
  EXPECT_EQ(first.get().value(), "timeout: one waits for worker, which waits for one");
  one.stop_now();
  workers.front().stop_now();
}

}  // namespace
}  // namespace troupe::test
