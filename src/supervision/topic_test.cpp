// SPDX-License-Identifier: Apache-2.0
// Topics: delivery, the number of stored copies, and the end of subscriptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {

struct small_quote {
  int number;
};
struct quote {
  std::string symbol;
  int cents;
};

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct in_topics {};
struct weighed {
  explicit weighed(std::string of) : text(std::move(of)) {}
  std::string text;
  counted<in_topics> alive;
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return text.capacity(); }
};

class reader;
struct act {
  std::function<void(reader&)> what;
};

class reader : public actor {
 public:
  explicit reader(journal& log) : log_(log) {}
  void on(const quote& q) { write(q.symbol, q.cents); }
  void on(small_quote q, address sender) {
    write(sender ? "small from somebody" : "small from nobody", q.number);
  }
  void on(const weighed& w, const address&) {
    where = &w;
    log_.write(w.text);
  }
  void on(const act& a) { a.what(*this); }
  void on(const std::shared_ptr<event>& e) { e->wait(); }

  using actor::system;
  [[nodiscard]] self_ref<reader> me() { return self(this); }

  const weighed* where = nullptr;

 private:
  void write(std::string_view what, int value) {
    log_.write(std::string(what) + " " + std::to_string(value));
  }
  journal& log_;
};

// Takes its own copy of the value.
class owner : public actor {
 public:
  explicit owner(journal& log) : log_(log) {}
  void on(weighed w) {
    where = w.text.data();
    kept.push_back(std::move(w));
    log_.write("kept");
  }
  std::vector<weighed> kept;
  static inline const char* where = nullptr;

 private:
  journal& log_;
};

class first : public actor {
 public:
  using messages = troupe::messages<quote>;
  void on(const quote&) {}
};

struct seen {
  journal log;
};
struct theatre : seen, stage {
  ref<reader> a = spawn<reader>(log);
  ref<reader> b = spawn<reader>(log);
};

TEST(topic, delivers_messages_to_each_subscriber_in_order) {
  theatre t;
  const topic<quote> prices;
  EXPECT_TRUE(prices.subscribe(t.a));
  EXPECT_TRUE(prices.subscribe(t.b));
  EXPECT_EQ(prices.subscribers(), 2u);
  EXPECT_EQ(prices.publish(quote{"A", 1}).reached(), 2u);
  const quote second{"A", 2};
  EXPECT_EQ(prices.publish(second).accepted, 2u);
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("A 1", "A 2", "A 1", "A 2"));
}

TEST(topic, copies_small_messages_and_passes_the_publisher_as_sender) {
  theatre t;
  const topic<small_quote> numbers;
  numbers.subscribe(t.a);
  numbers.publish(small_quote{1});
  t.b.send(act{[&](reader&) { numbers.publish(small_quote{2}); }});
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("small from nobody 1", "small from somebody 2"));
}

TEST(topic, without_subscribers_reaches_no_actor) {
  const topic<quote> prices;
  EXPECT_EQ(prices.publish(quote{"A", 1}).reached(), 0u);
}

TEST(topic, stores_a_message_once_for_all) {
  journal log;
  {
    stage s;
    const topic<weighed> all;
    std::vector<ref<reader>> those;
    for (int i = 0; i < 10; ++i) {
      those.push_back(s.spawn<reader>(log));
      all.subscribe(those.back());
    }
    EXPECT_EQ(all.publish(weighed("once")).reached(), 10u);
    EXPECT_EQ(counted<in_topics>::alive(), 1);
    s.play();
    EXPECT_EQ(log.lines().size(), 10u);
    EXPECT_EQ(counted<in_topics>::alive(), 0) << "the last one who reads it frees it";
    const weighed* where = nullptr;
    for (const auto& each : those) {
      each.send(act{[&](reader& r) {
        if (where == nullptr) where = r.where;
        EXPECT_EQ(r.where, where) << "the same object";
      }});
    }
    s.play();
    all.publish(weighed("never handled"));
    for (const auto& each : those) each.stop_now();
    s.play();
  }
  EXPECT_EQ(counted<in_topics>::alive(), 0) << "nor does what nobody handles stay";
}

TEST(topic, moves_the_message_to_the_last_handler_that_takes_it_by_value) {
  journal log;
  stage s;
  const topic<weighed> all;
  const auto a = s.spawn<owner>(log);
  const auto b = s.spawn<owner>(log);
  all.subscribe(a);
  all.subscribe(b);
  const std::string text(100, 'x');
  const char* place = nullptr;
  {
    weighed one(text);
    place = one.text.data();
    all.publish(std::move(one));
  }
  s.play();
  EXPECT_EQ(counted<in_topics>::alive(), 2);
  EXPECT_EQ(owner::where, place) << "the last one has the original";
  a.stop(), b.stop();
  s.play();
  EXPECT_EQ(counted<in_topics>::alive(), 0);
}

TEST(topic, has_filters) {
  theatre t;
  const topic<quote> prices;
  prices.subscribe(t.a, [](const quote& q) { return q.cents > 10; });
  prices.subscribe(t.a, [](const quote& q) { return q.symbol == "B"; });
  const publication first = prices.publish(quote{"A", 11});
  EXPECT_EQ(first.accepted, 1u);
  EXPECT_EQ(first.filtered, 1u);
  EXPECT_EQ(prices.publish(quote{"B", 12}).accepted, 2u);
  EXPECT_EQ(prices.publish(quote{"C", 1}).filtered, 2u);
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("A 11", "B 12", "B 12"));
}

TEST(topic, counts_throwing_filters_and_continues) {
  theatre t;
  const topic<quote> prices;
  prices.subscribe(t.a, [](const quote&) -> bool { throw std::runtime_error("broken"); });
  prices.subscribe(t.b);
  const publication done = prices.publish(quote{"A", 1});
  EXPECT_EQ(done.filters_failed, 1u);
  EXPECT_EQ(done.accepted, 1u);
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("A 1"));
}

TEST(topic, filters_may_publish_and_subscribe_themselves) {
  theatre t;
  const topic<quote> prices;
  const topic<quote> others;
  others.subscribe(t.b);
  prices.subscribe(t.a, [&](const quote& q) {
    prices.subscribe(t.b);
    return others.publish(quote{"from a filter", q.cents}).reached() == 1;
  });
  prices.publish(quote{"A", 1});
  prices.publish(quote{"A", 2});
  t.play();
  EXPECT_THAT(t.log.lines(),
              UnorderedElementsAre("A 1", "A 2", "A 2", "from a filter 1", "from a filter 2"));
}

TEST(topic, unsubscribe_ends_one_subscription) {
  theatre t;
  const topic<quote> prices;
  const subscription first = prices.subscribe(t.a);
  const subscription second = prices.subscribe(t.a);
  prices.publish(quote{"A", 1});
  EXPECT_TRUE(first.unsubscribe());
  EXPECT_FALSE(first);
  EXPECT_TRUE(second);
  EXPECT_FALSE(first.unsubscribe());
  EXPECT_EQ(prices.publish(quote{"A", 2}).reached(), 1u);
  EXPECT_TRUE(second.unsubscribe());
  EXPECT_EQ(prices.publish(quote{"A", 3}).reached(), 0u);
  EXPECT_EQ(prices.subscribers(), 0u);
  EXPECT_FALSE(subscription{}.unsubscribe());
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("A 1", "A 1", "A 2"))
      << "what was published before may still come";
}

TEST(topic, subscriptions_end_with_their_actor_and_do_not_keep_it_alive) {
  theatre t;
  const topic<quote> prices;
  const subscription first = prices.subscribe(t.a);
  const subscription second = prices.subscribe(t.b);
  t.a = {};
  t.b.stop();
  t.play();
  EXPECT_EQ(prices.subscribers(), 0u);
  EXPECT_FALSE(first);
  EXPECT_FALSE(second);
  EXPECT_FALSE(first.unsubscribe());
  EXPECT_EQ(prices.publish(quote{"A", 1}).reached(), 0u);
  EXPECT_FALSE(prices.subscribe(t.b)) << "it has ended";
  EXPECT_EQ(t.system.statistics().actors_alive, 0u);
}

TEST(topic, does_not_reach_an_actor_unsubscribed_during_publication) {
  theatre t;
  const topic<quote> prices;
  subscription second;
  const subscription first = prices.subscribe(t.a, [&second](const quote&) {
    second.unsubscribe();
    return true;
  });
  second = prices.subscribe(t.b);
  EXPECT_EQ(prices.publish(quote{"A", 1}).reached(), 1u);
  EXPECT_FALSE(second);
  EXPECT_EQ(prices.publish(quote{"A", 2}).reached(), 1u);
  t.play();
  EXPECT_EQ(prices.subscribers(), 1u);
}

TEST(topic, frees_a_filter_with_its_subscription) {
  theatre t;
  const topic<quote> prices;
  const auto held = std::make_shared<int>(0);
  const auto filter = [held](const quote&) { return true; };
  const subscription first = prices.subscribe(t.a, filter);
  prices.subscribe(t.b, filter);
  prices.publish(quote{"A", 1});
  EXPECT_EQ(held.use_count(), 4);
  first.unsubscribe();
  t.b.stop();
  t.play();
  EXPECT_EQ(held.use_count(), 2) << "the test's and the lambda's";
}

TEST(topic, subscribes_an_actor_from_within) {
  theatre t;
  const topic<quote> prices;
  t.a.send(act{[&](reader& me) {
    prices.subscribe(me.me());
    prices.publish(quote{"mine", 1});
  }});
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("mine 1"));
}

// ── Limits ────────────────────────────────────────────────────────────────────────────────────

TEST(topic, applies_each_subscribers_own_mailbox_limits) {
  journal log;
  stage s;
  const topic<quote> prices;
  const auto full =
      s.spawn<reader>(spawn_options{.max_messages = 1, .on_full = overflow::refuse}, log);
  const auto drops =
      s.spawn<reader>(spawn_options{.max_messages = 1, .on_full = overflow::drop_newest}, log);
  const auto free = s.spawn<reader>(log);
  for (const auto& each : {full, drops, free}) prices.subscribe(each);
  EXPECT_EQ(prices.publish(quote{"A", 1}).accepted, 3u);
  const publication second = prices.publish(quote{"A", 2});
  EXPECT_EQ(second.accepted, 1u);
  EXPECT_EQ(second.refused, 1u);
  EXPECT_EQ(second.dropped, 1u);
  EXPECT_EQ(second.reached(), 1u);
  s.play();
  EXPECT_EQ(log.lines().size(), 4u);
}

TEST(topic, charges_each_subscriber_for_the_whole_message) {
  journal log;
  stage s;
  const topic<weighed> all;
  const budget mine(15'000);
  const auto a = s.spawn<reader>(spawn_options{.memory_budget = mine}, log);
  all.subscribe(a);
  EXPECT_EQ(all.publish(weighed(std::string(10'000, 'x'))).accepted, 1u);
  EXPECT_GE(mine.used(), 10'000u);
  EXPECT_EQ(all.publish(weighed(std::string(10'000, 'x'))).refused, 1u);
  s.play();
  EXPECT_EQ(mine.used(), 0u);
}

TEST(topic, pauses_the_publisher_as_send_does) {
  journal log;
  stage s;
  const topic<quote> prices;
  const auto slow = s.spawn<reader>(spawn_options{.max_messages = 1}, log);
  prices.subscribe(slow);
  // On a thread with a pump, the publisher gets the result and continues.
  const auto p = s.system.spawn<reader>(log);
  atomic<bool> paused{false};
  event done;
  p.send(act{[&](reader&) {
    prices.publish(quote{"A", 1});
    paused = prices.publish(quote{"A", 2}).paused == 1;
    done.set();
  }});
  ASSERT_TRUE(done.wait());
  EXPECT_TRUE(paused);
  s.play();
  EXPECT_EQ(log.lines().size(), 2u);
  EXPECT_TRUE(eventually([&] { return s.system.statistics().pauses == 1; }));
}

TEST(topic, follows_a_redirection_to_an_actor_of_another_class) {
  journal log;
  stage s;
  const topic<quote> prices;
  const auto b = s.spawn<reader>(log);
  const auto a =
      s.spawn<first>(spawn_options{.max_messages = 1, .on_full = overflow::redirect_to<first>(b)});
  prices.subscribe(a);
  for (int i = 0; i < 3; ++i) prices.publish(quote{"A", i});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("A 1", "A 2"));
}

// A class that selects its handlers by its state.
class lamp : public state_machine<lamp> {
 public:
  explicit lamp(journal& log) : log_(log) {}
  struct off : state {};
  struct lit : state {};
  using states = troupe::states<off, lit>;
  using messages = troupe::messages<quote, ref<reader>, down, link_down>;

  to<lit> on(off, const quote& q) {
    log_.write("lit by " + q.symbol);
    return {};
  }
  void on(lit, const quote& q) { log_.write("is lit, " + q.symbol); }
  void on(const ref<reader>& whom) {
    watch(whom);
    link(whom);
  }
  to<off> on(lit, const down& d) {
    log_.write("off, " + std::string(to_string(d.reason)));
    return {};
  }
  void on(const link_down& d) { log_.write("link_down " + d.what); }

 private:
  journal& log_;
};

TEST(topic, messages_and_termination_messages_reach_state_machines) {
  theatre t;
  const auto l = t.spawn<lamp>(t.log);
  const topic<quote> prices({.retain_last = true});
  prices.publish(quote{"the retained one", 1});
  prices.subscribe(l);
  l.send(ref{t.a});
  t.play();
  prices.publish(quote{"the next one", 2});
  t.play();
  t.a.send(act{[](reader&) { throw std::runtime_error("broken"); }});
  t.play();
  std::vector<std::string> lines = t.log.lines();
  EXPECT_THAT(lines, UnorderedElementsAre("lit by the retained one", "is lit, the next one",
                                          "off, failed", "link_down broken"));
  l.stop();
  t.play();
}

// Stashes every message until it receives `open`.
class depot : public state_machine<depot> {
 public:
  struct shut : state {
    using defers = troupe::messages<quote, small_quote, down>;
  };
  struct open : state {};
  using states = troupe::states<shut, open>;
  using messages = troupe::messages<quote, small_quote, down, ref<reader>, act>;

  to<open> on(shut, const act&) { return {}; }
  void on(const ref<reader>& whom) { watch(whom); }
  void on(open, const quote&) {}
  void on(open, small_quote) {}
  void on(open, const down&) {}
};

// Returns how many messages a mailbox for three accepts after two deferred ones. All of them wait
// until the end.
std::size_t taken_behind(theatre& t, const ref<depot>& d) {
  t.play();
  std::size_t taken = 0;
  while (taken < 3 && d.send(quote{"A", 0}) == delivery::accepted) ++taken;
  const std::size_t before = t.told.dead_letters().size();
  d.stop();
  t.play();
  EXPECT_EQ(t.told.dead_letters().size() - before, 2 + taken);
  return taken;
}

TEST(topic, deferred_copies_are_charged_but_deferred_shared_messages_are_not) {
  theatre t;
  const auto fresh = [&] {
    return t.spawn<depot>(spawn_options{.max_messages = 3, .on_full = overflow::refuse});
  };
  const auto sent = fresh();
  for (int i = 0; i < 2; ++i) sent.send(quote{"A", i});
  EXPECT_EQ(taken_behind(t, sent), 1u);

  const topic<small_quote> small;
  const auto copied = fresh();
  small.subscribe(copied);
  for (int i = 0; i < 2; ++i) small.publish(small_quote{});
  EXPECT_EQ(taken_behind(t, copied), 1u) << "each has a copy, as if it was sent";

  const topic<quote> prices;
  const auto shared = fresh();
  prices.subscribe(shared);
  for (int i = 0; i < 2; ++i) prices.publish(quote{"A", i});
  EXPECT_EQ(taken_behind(t, shared), 3u);

  const auto watcher = fresh();
  watcher.send(ref{t.a});
  watcher.send(ref{t.a});
  t.play();
  t.a.stop();
  t.play();
  EXPECT_EQ(taken_behind(t, watcher), 3u);
}

// ── Named topics and the retained value ───────────────────────────────────────────────────────

TEST(topic, is_found_by_name_and_type) {
  theatre t;
  const topic<quote> prices(t.system, "prices");
  EXPECT_EQ(prices, topic<quote>(t.system, "prices"));
  EXPECT_NE(prices, topic<quote>(t.system, "others"));
  const topic<small_quote> same_name(t.system, "prices");
  same_name.subscribe(t.a);
  EXPECT_EQ(prices.publish(quote{"A", 1}).reached(), 0u) << "another type, another topic";
  topic<quote>(t.system, "prices").subscribe(t.a);
  EXPECT_EQ(prices.publish(quote{"A", 1}).reached(), 1u);
  troupe::system other;
  EXPECT_NE(prices, topic<quote>(other, "prices")) << "each system has its own";
  EXPECT_THROW(topic<quote>(t.system, ""), std::invalid_argument);
  EXPECT_THROW(topic<quote>(t.system, std::string(256, 'x')), std::invalid_argument);
}

TEST(topic, a_named_topic_lives_as_long_as_it_has_a_subscriber) {
  theatre t;
  topic<quote>(t.system, "prices").subscribe(t.a);
  EXPECT_EQ(topic<quote>(t.system, "prices").publish(quote{"A", 1}).reached(), 1u);
  t.play();
  t.a.stop();
  t.play();
  EXPECT_EQ(topic<quote>(t.system, "prices").publish(quote{"A", 1}).reached(), 0u);
}

TEST(topic, may_outlive_its_system) {
  std::optional<topic<quote>> prices;
  subscription s;
  {
    theatre t;
    prices.emplace(t.system, "prices", topic_options{.retain_last = true});
    s = prices->subscribe(t.a);
    prices->publish(quote{"A", 1});
  }
  EXPECT_FALSE(s);
  EXPECT_EQ(prices->publish(quote{"A", 1}).reached(), 0u);
}

TEST(topic, delivers_a_retained_value_to_late_subscribers) {
  theatre t;
  const topic<quote> prices({.retain_last = true});
  const topic<small_quote> numbers({.retain_last = true});
  prices.subscribe(t.b);
  prices.publish(quote{"A", 1});
  prices.publish(quote{"A", 2});
  numbers.publish(small_quote{3});
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("A 1", "A 2"));
  prices.subscribe(t.a);
  numbers.subscribe(t.a);
  prices.subscribe(t.a, [](const quote& q) { return q.cents > 2; });
  prices.publish(quote{"A", 3});
  t.play();
  EXPECT_THAT(t.log.lines(),
              ElementsAre("A 1", "A 2", "A 2", "small from nobody 3", "A 3", "A 3", "A 3"));
}

TEST(topic, delivers_the_newest_retained_value_if_a_filter_publishes_another) {
  theatre t;
  const topic<quote> prices({.retain_last = true});
  prices.publish(quote{"A", 1});
  prices.subscribe(t.a, [&](const quote& q) {
    if (q.cents == 1) prices.publish(quote{"A", 2});
    return true;
  });
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("A 2"));
}

TEST(topic, asks_a_filter_again_if_the_retained_value_changes_meanwhile) {
  for (const int wanted : {1, 2}) {
    theatre t;
    const topic<quote> prices({.retain_last = true});
    prices.publish(quote{"A", 1});
    bool is_first = true;
    prices.subscribe(t.a, [&](const quote& q) {
      if (std::exchange(is_first, false)) prices.publish(quote{"A", 2});
      return q.cents == wanted;
    });
    t.play();
    EXPECT_EQ(t.log.lines(),
              wanted == 2 ? std::vector<std::string>{"A 2"} : std::vector<std::string>{});
  }
}

TEST(topic, delivers_the_retained_value_even_to_a_full_mailbox) {
  journal log;
  stage s;
  const topic<quote> prices({.retain_last = true});
  prices.publish(quote{"A", 1});
  const auto a =
      s.spawn<reader>(spawn_options{.max_messages = 1, .on_full = overflow::refuse}, log);
  a.send(quote{"B", 1});
  prices.subscribe(a);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("B 1", "A 1"));
}

TEST(topic, retains_no_value_by_default) {
  theatre t;
  const topic<quote> prices(t.system, "prices");
  prices.publish(quote{"A", 1});
  prices.subscribe(t.a);
  t.play();
  EXPECT_THAT(t.log.lines(), IsEmpty());
  const topic<quote> same(t.system, "prices", {.retain_last = true});
  prices.publish(quote{"A", 2});
  prices.subscribe(t.b);
  t.play();
  EXPECT_THAT(t.log.lines(), ElementsAre("A 2", "A 2"));
}

// ── Threads ───────────────────────────────────────────────────────────────────────────────────

struct stamped {
  int publisher;
  int number;
  std::array<char, 80> rest{};  // large enough to be shared
};

// The messages of each publisher arrive in order, without a gap after the first one.
class orderly : public actor {
 public:
  explicit orderly(atomic<int>& received) : received_(received) {}
  void on(const stamped& s) {
    int& last = last_[static_cast<std::size_t>(s.publisher)];
    EXPECT_TRUE(last == 0 || s.number == last + 1) << last << ", then " << s.number;
    last = s.number;
    ++received_;
  }

 private:
  std::array<int, 2> last_{};
  atomic<int>& received_;
};

TEST(topic, keeps_publisher_order_while_subscribers_come_and_go) {
  constexpr int messages = sanitized ? 300 : 5'000;
  atomic<int> received{0};
  atomic<int> received_by_others{0};
  atomic<int> done{0};
  troupe::system all({.workers = 2, .max_messages = no_limit, .max_bytes = no_limit});
  {
    const topic<stamped> prices(all, "prices", {.retain_last = false});
    const auto always = all.spawn<orderly>(received);
    prices.subscribe(always);
    std::vector<std::thread> publishers;
    for (int p = 0; p < 2; ++p) {
      publishers.emplace_back([&, p] {
        for (int i = 1; i <= messages; ++i) {
          EXPECT_GE(prices.publish(stamped{p, i}).reached(), 1u);
        }
        ++done;
      });
    }
    for (int i = 0; done < 2; ++i) {
      const auto one = all.spawn<orderly>(received_by_others);
      const subscription s = topic<stamped>(all, "prices").subscribe(one);
      EXPECT_TRUE(s);
      if (i % 2 == 0) std::this_thread::yield();
      if (i % 3 == 0) s.unsubscribe();
      if (i % 3 == 1) one.stop();
    }
    for (std::thread& each : publishers) each.join();
    EXPECT_TRUE(eventually([&] { return prices.subscribers() == 1; }));
  }
  EXPECT_TRUE(all.shutdown(patience).complete());
  EXPECT_EQ(received, 2 * messages) << "by the one that was there all the time";
}

// One publisher: the retained value comes first, followed by all later ones.
TEST(topic, delivers_the_retained_value_before_all_later_ones) {
  constexpr int rounds = sanitized ? 100 : 500;
  atomic<int> received{0};
  atomic<bool> over{false};
  troupe::system all({.workers = 1, .max_messages = no_limit, .max_bytes = no_limit});
  const topic<stamped> prices({.retain_last = true});
  prices.publish(stamped{0, 1});
  std::thread publisher([&] {
    for (int i = 2; !over; ++i) {
      prices.publish(stamped{0, i});
      while (!over && all.statistics().messages_waiting > 1'000) std::this_thread::yield();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    const auto one = all.spawn<orderly>(received);
    EXPECT_TRUE(prices.subscribe(one, [](const stamped&) { return true; }));
    std::this_thread::yield();
    one.stop();
  }
  over = true;
  publisher.join();
  EXPECT_TRUE(eventually([&] { return prices.subscribers() == 0; }));
  EXPECT_TRUE(all.shutdown(patience).complete());
}

TEST(topic, keeps_nothing_of_former_subscribers) {
  constexpr int rounds = sanitized ? 5'000 : 30'000;
  atomic<int> received{0};
  troupe::system all({.workers = 1});
  const topic<stamped> prices(all, "prices");
  std::size_t highest = 0;
  for (int i = 0; i < rounds; ++i) {
    prices.subscribe(all.spawn<orderly>(received));
    if (i % 1'000 == 0) {
      (void)prices.publish(stamped{0, 0});
      highest = std::max(highest, prices.subscribers());
    }
  }
  EXPECT_TRUE(eventually([&] { return prices.subscribers() == 0; })) << highest;
}

}  // namespace
}  // namespace troupe::test
