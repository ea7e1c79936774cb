// SPDX-License-Identifier: Apache-2.0
// Recipients with requests where a name, a topic, a router or a supervisor is between the two
// actors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/ask_test_support.hpp"
#include "actor/test_support.hpp"
#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

struct deposit {
  std::int64_t cents;
};
struct get_balance {};
struct get_number {
  int key;
};
struct fail_now {};

class teller : public actor {
 public:
  using messages = troupe::messages<deposit, get_balance, get_number, fail_now>;
  explicit teller(int number = 0) : number_(number) {}
  void on(deposit m) { cents_ += m.cents; }
  std::int64_t on(get_balance) { return cents_; }
  int on(get_number) { return number_; }
  int on(fail_now) { throw std::runtime_error("broken"); }

 private:
  const int number_;
  std::int64_t cents_ = 0;
};

// ── Names ─────────────────────────────────────────────────────────────────────────────────────

TEST(registry, finds_requests_that_the_class_lists_and_answers) {
  recorder told;
  troupe::system system(told.options());
  const registry names(system);
  const auto it = system.spawn<teller>();
  ASSERT_TRUE(names.add("teller", it));
  const auto to = names.find_recipient<deposit, std::int64_t(get_balance)>("teller").value();
  to.send(deposit{5});
  EXPECT_EQ(to.ask<get_balance>(patience).get().value(), 5);
}

TEST(registry, does_not_find_a_request_with_another_type_of_reply) {
  recorder told;
  troupe::system system(told.options());
  const registry names(system);
  const auto it = system.spawn<teller>();
  ASSERT_TRUE(names.add("teller", it));
  const auto other = names.find_recipient<int(get_balance)>("teller");
  EXPECT_EQ(other.error(), not_found::not_understood);
  EXPECT_THAT(other.message(), HasSubstr("get_balance"));
  EXPECT_EQ(names.find_recipient<bool(deposit)>("teller").error(), not_found::not_understood)
      << "it replies with nothing";
}

TEST(registry, finds_a_function_actor_by_what_its_recipient_lists) {
  recorder told;
  troupe::system system(told.options());
  const registry names(system);
  const auto it = system.spawn<deposit, int(get_number)>([](context& self) -> task<> {
    for (;;) {
      auto asked = co_await self.receive<int(get_number)>();
      asked.owed.set_value(2 * asked.message.key);
    }
  });
  ASSERT_TRUE(names.add("function", it));
  ASSERT_TRUE(names.add("function", it)) << "once more has no effect";
  ASSERT_TRUE(names.add("second", recipient<int(get_number)>(it)));
  const auto to = names.find_recipient<int(get_number)>("function").value();
  EXPECT_EQ(to.ask<get_number>(patience, 4).get().value(), 8);
  EXPECT_TRUE(names.find_recipient<deposit>("function"));
  EXPECT_EQ(names.find_recipient<deposit>("second").error(), not_found::not_understood);
  EXPECT_EQ(names.find<teller>("function").error(), not_found::another_type);
  it.stop_now();
  it.join();
  EXPECT_EQ(names.find_recipient<int(get_number)>("function").error(), not_found::not_there);
}

TEST(registry, finds_an_actor_that_was_named_by_a_recipient_by_its_class_as_well) {
  recorder told;
  troupe::system system(told.options());
  const registry names(system);
  const auto it = system.spawn<teller>(3);
  ASSERT_TRUE(names.add("teller", recipient<int(get_number)>(it)));
  EXPECT_EQ(*names.find<teller>("teller"), it);
  const auto to = names.find_recipient<int(get_number)>("teller").value();
  EXPECT_EQ(to.ask<get_number>(patience, 0).get().value(), 3);
}

TEST(registry, finds_a_router_and_its_requests_reach_the_workers) {
  recorder told;
  troupe::system system(told.options());
  const registry names(system);
  const auto all = router<int(get_number)>::spawn<teller>(system, 2, round_robin{}, 7);
  ASSERT_TRUE(names.add("all", all.handle()));
  const auto to = names.find_recipient<int(get_number)>("all").value();
  EXPECT_EQ(to.ask<get_number>(patience, 0).get().value(), 7);
}

// ── Topics ────────────────────────────────────────────────────────────────────────────────────

struct price {
  int of;
};
struct news {
  std::string text;
};

class listener_of_news : public actor {
 public:
  explicit listener_of_news(journal& log) : log_(log) {}
  void on(price m) { log_.write(std::to_string(m.of)); }
  void on(const news& m, address sender) { log_.write(m.text + (sender ? " by an actor" : "")); }
  int on(get_number m) { return m.key; }

 private:
  journal& log_;
};

TEST(topic, has_recipients_as_subscribers) {
  journal log;
  stage s;
  const recipient<price, news, int(get_number)> to = s.spawn<listener_of_news>(log);
  const topic<price> prices;
  const topic<news> all_news;
  const subscription first = prices.subscribe(to);
  const subscription second =
      all_news.subscribe(to, [](const news& m) { return m.text != "nothing"; });
  EXPECT_EQ(prices.publish(price{1}).reached(), 1u);
  EXPECT_EQ(all_news.publish(news{"something"}).reached(), 1u);
  EXPECT_EQ(all_news.publish(news{"nothing"}).filtered, 1u);
  s.play();
  EXPECT_TRUE(second.unsubscribe());
  EXPECT_EQ(all_news.publish(news{"late"}).reached(), 0u);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("1", "something"));
  to.stop();
  s.play();
  EXPECT_FALSE(first);
}

TEST(topic, gives_a_recipient_the_retained_message_beyond_its_limits) {
  journal log;
  stage s;
  const topic<price> prices({.retain_last = true});
  const topic<news> all_news({.retain_last = true});
  prices.publish(price{1});
  all_news.publish(news{"old"});
  const spawn_options narrow = {
      .where = bound_to(s.pump), .max_messages = 1, .on_full = overflow::refuse};
  const recipient<price, news> to = s.system.spawn<listener_of_news>(narrow, log);
  EXPECT_EQ(to.send(price{0}), delivery::accepted);
  EXPECT_EQ(to.send(price{0}), delivery::refused);
  (void)prices.subscribe(to);
  (void)all_news.subscribe(to);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("0", "1", "old"));
  EXPECT_EQ(to.send(price{2}), delivery::accepted) << "the retained ones counted for nothing";
  s.play();
}

TEST(topic, gives_a_message_to_one_worker_of_a_router) {
  journal log;
  stage s;
  const topic<price> prices({.retain_last = true});
  prices.publish(price{1});
  const std::vector<ref<listener_of_news>> workers{s.spawn<listener_of_news>(log),
                                                   s.spawn<listener_of_news>(log)};
  const router<price> all(s.system, workers, round_robin{});
  (void)prices.subscribe(all.handle());
  prices.publish(price{2});
  s.play();
  EXPECT_THAT(log.lines(), UnorderedElementsAre("1", "2"));
}

// The key is user code: it may use the topic, so the topic's lock must not be held.
TEST(topic, gives_a_retained_message_to_the_worker_of_its_key) {
  stage s;
  journal logs[3];
  std::vector<ref<listener_of_news>> workers;
  for (journal& each : logs) workers.push_back(s.spawn<listener_of_news>(each));
  for (int key = 0; key < 12; ++key) {
    const topic<price> prices({.retain_last = true});
    prices.publish(price{key});
    const router<price> all(s.system, workers, by_hash{[&prices](const price& m) {
                              (void)prices.subscribers();
                              return m.of;
                            }});
    const subscription one = prices.subscribe(all.handle());
    prices.publish(price{key});
    s.play();
    EXPECT_TRUE(one.unsubscribe());
  }
  int used = 0;
  for (const journal& each : logs) {
    const std::vector<std::string> lines = each.lines();
    used += lines.empty() ? 0 : 1;
    ASSERT_EQ(lines.size() % 2, 0u);
    for (std::size_t i = 0; i < lines.size(); i += 2) EXPECT_EQ(lines[i], lines[i + 1]);
  }
  EXPECT_GT(used, 1);
}

// ── Monitors and links ────────────────────────────────────────────────────────────────────────

TEST(recipient, with_requests_is_monitored_linked_and_awaited) {
  class guard : public actor {
   public:
    guard(recipient<int(fail_now)> to, journal& log) : to_(std::move(to)), log_(log) {}
    void on_start() {
      (void)watch(to_);
      link(to_);
    }
    task<> on(note) {
      const down ended = co_await end_of(to_);
      log_.write("awaited: " + std::string(to_string(ended.reason)));
    }
    void on(down d) { log_.write("monitored: " + std::string(to_string(d.reason))); }
    void on(link_down d) { log_.write("linked: " + std::string(to_string(d.reason))); }
    void references(reference_visitor& visit) const { visit(to_); }

   private:
    const recipient<int(fail_now)> to_;
    journal& log_;
  };
  journal log;
  recorder told;
  troupe::system system(told.options());
  const recipient<int(fail_now)> to = system.spawn<teller>();
  const auto who = system.spawn<guard>(to, log);
  who.send(note{});
  EXPECT_EQ(to.ask<fail_now>(patience).get().error(), ask_error::failed);
  ASSERT_TRUE(log.wait_for(3));
  EXPECT_THAT(log.lines(),
              UnorderedElementsAre("awaited: failed", "monitored: failed", "linked: failed"));
}

// ── Routers ───────────────────────────────────────────────────────────────────────────────────

TEST(router, distributes_requests_and_the_worker_replies_to_the_requester) {
  recorder told;
  troupe::system system(told.options());
  std::vector<ref<teller>> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(system.spawn<teller>(i));
  const router<deposit, int(get_number)> all(system, workers, round_robin{});
  std::array<int, 3> replies{};
  for (int i = 0; i < 6; ++i) {
    ++replies.at(static_cast<std::size_t>(all.ask<get_number>(patience, i).get().value()));
  }
  EXPECT_THAT(replies, ElementsAre(2, 2, 2));
  EXPECT_EQ(all.send_to_all(deposit{1}), 3u);
}

TEST(router, equal_keys_of_requests_and_messages_go_to_the_same_worker) {
  recorder told;
  troupe::system system(told.options());
  std::vector<ref<teller>> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(system.spawn<teller>(i));
  const router<int(get_number), std::int64_t(get_balance)> all(
      system, workers, by_hash{[]<class M>(const M& m) {
        if constexpr (std::is_same_v<M, get_number>) return m.key;
        return 17;
      }});
  const int first = all.ask<get_number>(patience, 17).get().value();
  workers.at(static_cast<std::size_t>(first)).send(deposit{9});
  EXPECT_EQ(all.ask<get_balance>(patience).get().value(), 9);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(all.ask<get_number>(patience, 17).get().value(), first);
  bool other = false;
  for (int i = 0; i < 64; ++i) other |= all.ask<get_number>(patience, i).get().value() != first;
  EXPECT_TRUE(other);
}

TEST(router, stops_requests_when_no_worker_is_left) {
  recorder told;
  troupe::system system(told.options());
  const auto one = system.spawn<teller>(1);
  const std::vector<ref<teller>> workers{one};
  const router<int(get_number)> all(system, workers, least_loaded{});
  one.stop();
  one.join();
  EXPECT_EQ(all.ask<get_number>(patience, 0).get().error(), ask_error::stopped);
  EXPECT_EQ(all.living(), 0u);
}

TEST(router, a_request_of_a_coroutine_reaches_a_worker) {
  talk t;
  const auto all = router<int(get_number)>::spawn<teller>(t.on.system, 2, least_loaded{}, 4);
  t.begin([to = all.handle()](asker_actor& me) -> task<> {
    const auto got = co_await to.ask<get_number>(patience, 0);
    me.log.write(std::to_string(*got));
  });
  ASSERT_TRUE(t.log.wait_for(1));
  EXPECT_THAT(t.log.lines(), ElementsAre("4"));
}

// ── Restarts ──────────────────────────────────────────────────────────────────────────────────

TEST(recipient, a_request_gets_the_reply_of_the_next_incarnation) {
  clinic<pupil> on;
  on.open();
  const recipient<fail, int(which_object)> to = on.it;
  auto first = to.ask<which_object>(patience);
  on.play();
  EXPECT_EQ(first.get().value(), 1);
  to.send(fail{"why not"});
  auto second = to.ask<which_object>(patience);
  on.play();
  EXPECT_EQ(second.get().value(), 2);
}

}  // namespace
}  // namespace troupe::test
