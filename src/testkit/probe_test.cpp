// SPDX-License-Identifier: Apache-2.0
#include <troupe/testkit/probe.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/function_actor.hpp>
#include <troupe/actor/task.hpp>

#include "both_test.hpp"

namespace troupe::testkit {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

struct pay {
  int cents;
};
struct refund {
  int cents;
};
struct tick {};
struct balance {
  int account;
};
struct parcel {
  std::unique_ptr<int> content;
};

class payer : public actor {
 public:
  explicit payer(recipient<pay, refund> till) : till_(std::move(till)) {}
  void on(int cents) {
    till_.send(pay{cents});
    if (cents > 100) till_.send(refund{cents - 100});
  }

 private:
  const recipient<pay, refund> till_;
};

// ── Messages ──────────────────────────────────────────────────────────────────────────────────

TEST(probe, receives_messages_in_order) {
  in_both([](troupe::system& system) {
    probe<pay, refund> till(system);
    const auto who = system.spawn<payer>(till);
    who.send(150);
    who.send(20);
    EXPECT_EQ(till.expect<pay>().cents, 150);
    EXPECT_EQ(till.expect<refund>().cents, 50);
    EXPECT_EQ(till.expect<pay>().cents, 20);
    till.expect_nothing(10ms);
  });
}

TEST(probe, is_any_recipient_of_its_messages) {
  in_both([](troupe::system& system) {
    probe<pay, refund, question<balance, int>> till(system);
    const recipient<refund> one = till;
    const recipient<balance, pay> others = till;
    one.send(refund{1});
    others.send(pay{2});
    EXPECT_EQ(address(one), address(till));
    EXPECT_EQ(till.expect<refund>().cents, 1);
    EXPECT_EQ(till.expect<pay>().cents, 2);
  });
}

TEST(probe, of_several_that_may_be_next_a_variant) {
  in_both([](troupe::system& system) {
    probe<pay, refund, tick> till(system);
    till.ref().send(refund{7});
    const std::variant<pay, refund> next = till.expect<pay, refund>();
    EXPECT_EQ(std::get<refund>(next).cents, 7);
  });
}

TEST(probe, another_message_fails_and_stays) {
  in_both([](troupe::system& system) {
    probe<pay, refund> till(system);
    till.ref().send(refund{7});
    std::source_location line;
    const mismatch what = mismatch_of([&] {
      line = std::source_location::current();
      (void)till.expect<pay>(5s);
    });
    EXPECT_THAT(what.expected, EndsWith("pay within 5 s"));
    EXPECT_THAT(what.came, EndsWith("refund"));
    EXPECT_EQ(what.where.line(), line.line() + 1);
    EXPECT_THAT(what.where.file_name(), EndsWith("probe_test.cpp"));
    EXPECT_EQ(till.expect<refund>().cents, 7);
  });
}

TEST(probe, expect_fails_if_no_message_arrives_in_time) {
  in_both([](troupe::system& system) {
    probe<pay, refund> till(system);
    const mismatch what = mismatch_of([&] { (void)till.expect<pay, refund>(10ms); });
    EXPECT_THAT(what.expected, HasSubstr("pay or "));
    EXPECT_THAT(what.expected, EndsWith("refund within 10 ms"));
    EXPECT_EQ(what.came, "nothing");
  });
}

TEST(probe, time_in_a_simulation_is_the_simulations) {
  sim::simulation sim(1);
  troupe::system system;
  probe<pay> till(system, {.within = 2h});
  till.ref().send_after(1h, pay{1});
  const auto before = sim.now();
  EXPECT_EQ(till.expect<pay>().cents, 1);
  EXPECT_GE(sim.now() - before, 1h);
  EXPECT_LT(sim.now() - before, 61min);
  till.expect_nothing(3h);
  EXPECT_GE(sim.now() - before, 4h);
}

TEST(probe, a_timeout_of_zero_examines_only_messages_that_have_arrived) {
  sim::simulation sim(1);
  troupe::system system;
  probe<pay> till(system);
  till.ref().send(pay{1});
  EXPECT_EQ(mismatch_of([&] { (void)till.expect<pay>(0ms); }).came, "nothing");
  sim.run_until_idle();
  EXPECT_EQ(till.waiting(), 1u);
  EXPECT_EQ(till.expect<pay>(0ms).cents, 1);
}

TEST(probe, expect_nothing_fails_if_a_message_arrives) {
  in_both([](troupe::system& system) {
    probe<pay> till(system);
    till.ref().send(pay{1});
    const mismatch what = mismatch_of([&] { till.expect_nothing(1s); });
    EXPECT_EQ(what.expected, "nothing for 1 s");
    EXPECT_THAT(what.came, EndsWith("pay"));
  });
}

class bystander : public actor {};

TEST(probe, skips_ignored_message_types) {
  in_both([](troupe::system& system) {
    probe<pay, tick> till(system);
    till.ref().send(tick{});
    till.ref().send(pay{1});
    till.ref().send(tick{});
    till.ref().send(pay{2});
    till.expect<tick>();
    const auto other = system.spawn<bystander>();
    till.watch(other);  // its message waits after all earlier ones
    EXPECT_EQ(till.waiting(), 3u);
    till.ignore<tick>();
    EXPECT_EQ(till.waiting(), 2u) << "payments alone";
    EXPECT_EQ(till.expect<pay>().cents, 1);
    EXPECT_EQ(till.expect<pay>().cents, 2);
    till.ref().send(tick{});
    till.expect_nothing(10ms);
    EXPECT_EQ(till.waiting(), 0u);
    till.unignore<tick>();
    till.ref().send(tick{});
    till.expect<tick>();
  });
}

TEST(probe, expect_eventually_skips_other_messages) {
  in_both([](troupe::system& system) {
    probe<pay, refund, tick> till(system);
    till.ref().send(tick{});
    till.ref().send(refund{1});
    till.ref().send(pay{2});
    EXPECT_EQ(till.expect_eventually<pay>().cents, 2);
    till.ref().send(tick{});
    const mismatch what = mismatch_of([&] { (void)till.expect_eventually<pay>(1s); });
    EXPECT_THAT(what.came, HasSubstr("only other messages, the last one "));
    EXPECT_THAT(what.came, EndsWith("tick"));
    till.expect_nothing(10ms);
  });
}

TEST(probe, takes_messages_that_can_only_be_moved) {
  in_both([](troupe::system& system) {
    probe<parcel> door(system);
    door.ref().send(parcel{std::make_unique<int>(7)});
    EXPECT_EQ(*door.expect<parcel>().content, 7);
  });
}

TEST(probe, more_than_it_keeps_is_lost_and_fails) {
  in_both([](troupe::system& system) {
    probe<pay, tick> till(system, {.keeps = 3});
    till.ignore<tick>();
    for (int i = 1; i <= 5; ++i) till.ref().send(pay{i});
    for (int i = 0; i < 5; ++i) till.ref().send(tick{});
    till.ref().stop();
    till.ref().join();
    for (int i = 1; i <= 3; ++i) EXPECT_EQ(till.expect<pay>().cents, i);
    const mismatch what = mismatch_of([&] { (void)till.expect<pay>(); });
    EXPECT_EQ(what.came,
              "more messages than the probe keeps (probe_options::keeps is 3): the others were "
              "discarded");
    EXPECT_EQ(mismatch_of([&] { till.expect_nothing(10ms); }).came, what.came);
  });
}

TEST(probe, expect_fails_at_once_if_the_probes_actor_has_terminated) {
  in_both([](troupe::system& system) {
    probe<pay> till(system, {.within = 24h});
    (void)system.shutdown(1s);
    EXPECT_EQ(mismatch_of([&] { (void)till.expect<pay>(); }).came,
              "nothing: the probe's actor has terminated");
  });
}

TEST(probe, stops_its_actor_when_it_is_destroyed) {
  in_both([](troupe::system& system) {
    std::optional<probe<pay>> till(system);
    const auto held = till->ref();
    till.reset();
    EXPECT_EQ(held.join(), exit_reason::stopped_now);
    EXPECT_EQ(held.send(pay{1}), delivery::refused);
  });
}

class misuses : public actor {
 public:
  explicit misuses(probe<pay>& p) : p_(p) {}
  bool on(tick) {
    try {
      p_.expect<pay>();
    } catch (const std::logic_error&) {
      return true;
    }
    return false;
  }

 private:
  probe<pay>& p_;
};

TEST(probe, is_not_for_handlers) {
  in_both([](troupe::system& system) {
    probe<pay> till(system);
    EXPECT_TRUE(*system.spawn<misuses>(till).ask<tick>(5s).get());
  });
}

// ── Requests ──────────────────────────────────────────────────────────────────────────────────

TEST(probe, replies_when_the_test_decides) {
  in_both([](troupe::system& system) {
    probe<question<balance, int>> bank(system);
    auto first = bank.ref().ask<balance>(5s, 1);
    auto second = bank.ref().ask<balance>(5s, 2);
    auto one = bank.expect<balance>();
    auto other = bank.expect<question<balance, int>>();
    EXPECT_EQ(one.message.account, 1);
    EXPECT_TRUE(other.reply(200));
    EXPECT_TRUE(one.reply(100));
    EXPECT_FALSE(one.reply(300));
    EXPECT_EQ(*first.get(), 100);
    EXPECT_EQ(*second.get(), 200);
  });
}

TEST(probe, can_fail_a_request) {
  in_both([](troupe::system& system) {
    probe<question<balance, int>> bank(system);
    auto asked = bank.ref().ask<balance>(5s, 1);
    EXPECT_TRUE(bank.expect<balance>().fail());
    EXPECT_EQ(asked.get().error(), ask_error::failed);
  });
}

TEST(probe, a_discarded_request_is_unanswered) {
  in_both([](troupe::system& system) {
    probe<question<balance, int>> bank(system, {.keeps = 1});
    auto let_go = bank.ref().ask<balance>(5s, 1);
    auto lost = bank.ref().ask<balance>(5s, 2);
    EXPECT_EQ(lost.get().error(), ask_error::unanswered);
    (void)bank.expect<balance>();
    EXPECT_EQ(let_go.get().error(), ask_error::unanswered);
  });
}

TEST(probe, a_request_that_is_not_examined_times_out) {
  in_both([](troupe::system& system) {
    probe<question<balance, int>> bank(system);
    EXPECT_EQ(bank.ref().ask<balance>(10ms, 1).get().error(), ask_error::timeout);
  });
}

TEST(probe, pending_requests_fail_with_stopped_when_it_terminates) {
  in_both([](troupe::system& system) {
    probe<question<balance, int>> bank(system);
    auto asked = bank.ref().ask<balance>(5s, 1);
    bank.ref().stop();
    EXPECT_EQ(asked.get().error(), ask_error::stopped);
    EXPECT_FALSE(bank.expect<balance>().reply(1));
  });
}

TEST(probe, a_request_message_that_was_only_sent_accepts_no_reply) {
  in_both([](troupe::system& system) {
    probe<question<balance, int>> bank(system);
    bank.ref().send(balance{1});
    auto q = bank.expect<balance>();
    EXPECT_FALSE(q.reply(1));
    EXPECT_FALSE(q.fail());
  });
}

// A component whose responder's type is a template parameter.
template <class Bank>
class clerk : public actor {
 public:
  clerk(ref<Bank> bank, recipient<pay> to) : bank_(std::move(bank)), to_(std::move(to)) {}
  task<> on(tick) {
    const auto answer = co_await bank_.template ask<balance>(5s, 7);
    to_.send(pay{answer ? *answer : -1});
  }

 private:
  const ref<Bank> bank_;
  const recipient<pay> to_;
};

TEST(probe, replies_to_an_actor) {
  in_both([](troupe::system& system) {
    using bank = probe<question<balance, int>, pay>;
    bank p(system);
    system.spawn<clerk<bank::actor>>(p.ref(), p).send(tick{});
    p.expect<balance>().reply(42);
    EXPECT_EQ(p.expect<pay>().cents, 42);
  });
}

// ── Termination ───────────────────────────────────────────────────────────────────────────────

class fragile : public actor {
 public:
  explicit fragile(recipient<pay> tells) : tells_(std::move(tells)) {}
  void on(tick) {
    tells_.send(pay{1});
    throw std::runtime_error("broken");
  }

 private:
  const recipient<pay> tells_;
};

troupe::system_options quietly() {
  return {.workers = 2, .on_failure = [](const failure&) {}};
}

TEST(probe, sees_ends_and_why) {
  const auto test = [](troupe::system& system) {
    probe<pay> p(system);
    const auto one = system.spawn<fragile>(p);
    const recipient<tick> other = system.spawn<fragile>(p);
    p.watch(one);
    p.watch(other);
    one.send(tick{});
    const down end = p.expect_end(one);
    EXPECT_EQ(end.reason, exit_reason::failed);
    EXPECT_EQ(end.what, "broken");
    EXPECT_EQ(p.expect<pay>(0ms).cents, 1);  // sent before it failed
    p.expect_nothing(10ms);
    other.send(tick{});
    (void)p.expect<pay>();
    EXPECT_EQ(p.expect_end(other).reason, exit_reason::failed);
  };
  {
    sim::simulation sim(3);
    troupe::system system(quietly());
    test(system);
  }
  troupe::system system(quietly());
  test(system);
}

TEST(probe, sees_why_one_ended_before_it_was_watched) {
  in_both([](troupe::system& system) {
    probe<pay> p(system);
    const auto one = system.spawn<fragile>(p);
    one.stop();
    EXPECT_EQ(one.join(), exit_reason::stopped);
    p.watch(one);
    EXPECT_EQ(p.expect_end(one).reason, exit_reason::stopped);
  });
}

TEST(probe, expect_end_fails_if_the_actor_does_not_terminate) {
  in_both([](troupe::system& system) {
    probe<pay> p(system);
    const auto one = system.spawn<fragile>(p);
    p.watch(one);
    const mismatch what = mismatch_of([&] { (void)p.expect_end(one, 10ms); });
    EXPECT_EQ(what.expected, "the termination of an actor within 10 ms");
    EXPECT_EQ(what.came, "nothing");
    one.stop();
    EXPECT_EQ(mismatch_of([&] { p.expect_nothing(5s); }).came, "a termination, stopped");
    EXPECT_EQ(mismatch_of([&] { (void)p.expect<pay>(10ms); }).came,
              "no message, but a termination, stopped");
  });
}

TEST(probe, expect_end_requires_a_watched_actor) {
  in_both([](troupe::system& system) {
    probe<pay> p(system);
    EXPECT_THROW((void)p.expect_end(system.spawn<fragile>(p)), std::logic_error);
  });
}

}  // namespace
}  // namespace troupe::testkit
