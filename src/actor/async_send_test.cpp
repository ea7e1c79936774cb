// SPDX-License-Identifier: Apache-2.0
// A handler waits until the receiver has room: when, for how long, in which order, and what ends
// the wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>

#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto A = delivery::accepted;
constexpr auto D = delivery::dropped;
constexpr auto R = delivery::refused;

struct feed {
  int first;
  int count;
};

/// Sends items when there is room for them, and records the result of each: to be read when `fed`
/// says that the handlers are done. Several may share the results.
template <class To>
class feeder : public actor {
 public:
  struct results {
    void add(delivery one) {
      const std::lock_guard lock(guard);
      became.push_back(one);
    }
    mutex guard;
    std::vector<delivery> became;
    atomic<int> fed{0};
    atomic<int> others{0};
  };
  feeder(To to, results& out) : to_(std::move(to)), out_(out) {}

  task<> on(feed f) {
    for (int i = 0; i < f.count; ++i) {
      const delivery became = co_await to_.async_send(item{f.first + i});
      out_.add(became);
    }
    ++out_.fed;
  }
  void on(const note&) { ++out_.others; }
  void on(item i) { (void)to_.send(i); }

 private:
  const To to_;
  results& out_;
};
using sink_feeder = feeder<ref<sink>>;

template <class Crowd>
bool wait_for_waiting(const Crowd& s, std::uint64_t handlers) {
  return eventually([&] { return s.system.statistics().handlers_waiting == handlers; });
}

TEST(async_send, waits_while_the_mailbox_is_full_and_keeps_the_order) {
  std::vector<int> got;
  sink_feeder::results fed;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(4), got);
  const auto from = s.system.spawn<sink_feeder>(full, fed);
  from.send(feed{0, 10});
  ASSERT_TRUE(wait_for_waiting(s, 1));
  from.send(note{"the actor goes on"});
  ASSERT_TRUE(eventually([&] { return fed.others == 1; }));
  EXPECT_EQ(fed.fed, 0);
  EXPECT_THAT(got, IsEmpty());
  EXPECT_TRUE(eventually([&] {
    s.play();
    return fed.fed == 1;
  }));
  s.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 10)));
  EXPECT_THAT(fed.became, Each(A));
  EXPECT_EQ(s.full.counts(), overload_counts{}) << "never above the limit, and nobody was paused";
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
}

TEST(async_send, without_limits_never_waits) {
  std::vector<int> got;
  sink_feeder::results fed;
  pumped_crowd s;
  spawn_options options = s.here(no_limit);
  options.max_bytes = no_limit;
  const auto to = s.system.spawn<sink>(options, got);
  const auto from = s.system.spawn<sink_feeder>(to, fed);
  from.send(feed{0, 200'000});
  ASSERT_TRUE(eventually([&] { return fed.fed == 1; }));
  s.play();
  EXPECT_THAT(got, SizeIs(200'000));
}

TEST(async_send, is_overtaken_by_a_plain_send_whose_sender_is_suspended) {
  std::vector<int> got;
  sink_feeder::results fed;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(1), got);
  const auto from = s.system.spawn<sink_feeder>(full, fed);
  const auto paused = s.system.spawn<sink_feeder>(full, fed);
  from.send(feed{0, 2});
  ASSERT_TRUE(wait_for_waiting(s, 1));
  paused.send(item{7});  // beyond the limit
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  EXPECT_EQ(s.system.statistics().handlers_waiting, 1u);
  s.play();
  ASSERT_TRUE(eventually([&] { return fed.fed == 1; }));
  s.play();
  EXPECT_THAT(got, ElementsAre(0, 7, 1)) << "a plain send overtakes what waits";
}

// ── Handles and messages ──────────────────────────────────────────────────────────────────────

struct letter {
  std::string text;
  std::vector<int> numbers;
  std::unique_ptr<int> pointer;
};
struct copied {
  std::string text;
};
class built {
 public:
  built(std::string text, int times) : text_(std::move(text)), times_(times) {}
  [[nodiscard]] std::string text() const { return text_ + std::to_string(times_); }

 private:
  std::string text_;
  int times_;
};

/// Records what it receives, with the sender if there is one.
class mailbag : public actor {
 public:
  explicit mailbag(journal& log) : log_(log) {}
  void on(letter l) {
    log_.write(l.text + std::to_string(l.numbers.size()) + std::to_string(*l.pointer));
  }
  void on(const copied& c, address from) { log_.write(c.text + (from ? " from an actor" : "")); }
  void on(built b) { log_.write(b.text()); }
  void on(int i) { log_.write(std::to_string(i)); }

 private:
  journal& log_;
};

/// GCC 12 destroys objects built from braces within a co_await twice. None of these forms is
/// affected.
template <class To>
class writer : public actor {
 public:
  explicit writer(To to) : to_(std::move(to)) {}
  task<> on(feed) {
    const std::string longer(100, 'x');
    (void)co_await to_.template async_send<letter>(longer + "1", std::vector<int>(3),
                                                   std::make_unique<int>(7));
    letter named{longer + "2", std::vector<int>(4), std::make_unique<int>(8)};
    (void)co_await to_.template async_send<letter>(std::move(named));
    const copied kept{longer + "3"};
    (void)co_await to_.async_send(kept);
    (void)co_await to_.template async_send<copied>(kept.text + "4");
    (void)co_await to_.async_send(built(longer, 5));
    (void)co_await to_.template async_send<built>(longer, 6);
    (void)co_await to_.async_send(7);
    (void)co_await to_.template async_send<int>();
    log_size_ = kept.text.size();
  }

 private:
  const To to_;
  std::size_t log_size_ = 0;
};

template <class To>
void check_forms(std::size_t limit) {
  const std::string x(100, 'x');
  journal log;
  pumped_crowd s;
  const auto to = s.system.spawn<mailbag>(s.here(limit), log);
  const auto from = s.system.spawn<writer<To>>(To(to));
  from.send(feed{});
  EXPECT_TRUE(eventually([&] {
    s.play();
    return log.lines().size() == 8;
  }));
  EXPECT_THAT(log.lines(), ElementsAre(x + "137", x + "248", x + "3 from an actor",
                                       x + "34 from an actor", x + "5", x + "6", "7", "0"));
}

TEST(async_send, through_a_ref_takes_all_forms_of_message) {
  check_forms<ref<mailbag>>(100);
  check_forms<ref<mailbag>>(1);
}

TEST(async_send, through_a_recipient_takes_all_forms_of_message) {
  using all = recipient<letter, copied, built, int>;
  check_forms<all>(100);
  check_forms<all>(1);
}

TEST(async_send, that_is_not_awaited_sends_nothing) {
  class undecided : public actor {
   public:
    explicit undecided(ref<mailbag> to) : to_(std::move(to)) {}
    void on(feed) {
      (void)to_.async_send<letter>(std::string(100, 'x'), std::vector<int>(3), nullptr);
    }

   private:
    const ref<mailbag> to_;
  };
  journal log;
  stage s;
  const auto to = s.spawn<mailbag>(log);
  s.spawn<undecided>(to).send(feed{});
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST(async_send, keeps_the_receiver_alive_while_it_waits) {
  class forgetful : public actor {
   public:
    explicit forgetful(ref<sink> to) : to_(std::move(to)) {}
    task<> on(feed f) { (void)co_await to_.async_send(item{f.first}); }
    void on(const note&) { to_ = {}; }

   private:
    ref<sink> to_;
  };
  std::vector<int> got;
  pumped_crowd s;
  auto full = s.system.spawn<sink>(s.here(1), got);
  full.send(item{0});
  const auto from = s.system.spawn<forgetful>(full);
  from.send(feed{1, 1});
  ASSERT_TRUE(wait_for_waiting(s, 1));
  full = {};
  from.send(note{});
  EXPECT_TRUE(eventually([&] {
    s.play();
    return s.system.statistics().actors_alive == 1;
  }));
  EXPECT_THAT(got, ElementsAre(0, 1));
}

// ── Ends ──────────────────────────────────────────────────────────────────────────────────────

TEST(async_send, to_an_actor_that_has_ended_is_refused_and_a_dead_letter) {
  std::vector<int> got;
  sink_feeder::results fed;
  pumped_crowd s;
  const auto to = s.system.spawn<sink>(s.here(1), got);
  const auto from = s.system.spawn<sink_feeder>(to, fed);
  to.stop();
  s.play();
  from.send(feed{0, 2});
  ASSERT_TRUE(eventually([&] { return fed.fed == 1; }));
  EXPECT_THAT(fed.became, ElementsAre(R, R));
  EXPECT_THAT(s.told.dead_letters(), SizeIs(2));
  EXPECT_EQ(s.full.counts(), overload_counts{});
}

TEST(async_send, is_refused_and_a_dead_letter_when_the_receiver_ends_while_it_waits) {
  for (const bool fails : {false, true}) {
    std::vector<int> got;
    sink_feeder::results fed;
    pumped_crowd s;
    const auto to = s.system.spawn<sink>(s.here(2), got);
    const auto from = s.system.spawn<sink_feeder>(to, fed);
    const auto other = s.system.spawn<sink_feeder>(to, fed);
    if (fails) to.send(explode{});
    from.send(feed{0, 3});
    ASSERT_TRUE(wait_for_waiting(s, 1));
    other.send(feed{5, 1});
    ASSERT_TRUE(wait_for_waiting(s, 2));
    if (!fails) to.stop_now();
    s.play();
    ASSERT_TRUE(eventually([&] { return fed.fed == 2; }));
    EXPECT_EQ(how_many(fed.became, R), fails ? 3 : 2);
    EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
    const auto dead = s.told.dead_letters();
    EXPECT_THAT(dead, SizeIs(4)) << "with what was in its mailbox";
    for (const dead_letter& each : dead) EXPECT_EQ(each.message, type_name<item>());
  }
}

TEST(async_send, of_a_sender_that_ends_is_never_sent) {
  std::vector<int> got;
  sink_feeder::results fed;
  sink_feeder::results other_fed;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2), got);
  const auto from = s.system.spawn<sink_feeder>(full, fed);
  const auto other = s.system.spawn<sink_feeder>(full, other_fed);
  from.send(feed{0, 3});
  ASSERT_TRUE(wait_for_waiting(s, 1));
  other.send(feed{10, 1});
  ASSERT_TRUE(wait_for_waiting(s, 2));
  from.stop();
  EXPECT_EQ(from.join(), exit_reason::stopped);
  EXPECT_EQ(s.system.statistics().handlers_waiting, 1u) << "the one behind it waits still";
  s.play();
  ASSERT_TRUE(eventually([&] { return other_fed.fed == 1; }));
  s.play();
  EXPECT_THAT(got, ElementsAre(0, 1, 10));
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
}

TEST(async_send, leaves_nothing_behind_when_sender_and_receiver_terminate) {
  std::vector<int> got;
  sink_feeder::results fed;
  pumped_crowd s;
  {
    const auto full = s.system.spawn<sink>(s.here(1), got);
    const auto from = s.system.spawn<sink_feeder>(full, fed);
    from.send(feed{0, 2});
    ASSERT_TRUE(wait_for_waiting(s, 1));
    full.stop_now();
    from.stop_now();
  }
  EXPECT_TRUE(eventually([&] {
    s.play();
    return s.system.statistics().actors_alive == 0;
  }));
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
}

TEST(async_send, of_a_terminated_sender_arrives_before_its_down_or_not_at_all) {
  class listener : public actor {
   public:
    explicit listener(journal& log) : log_(log) {}
    void on(item i) { log_.write(std::to_string(i.number)); }
    void on(const address& who) { watch(who); }
    void on(const down&) { log_.write("down"); }

   private:
    journal& log_;
  };
  for (int round = 0; round < 50; ++round) {
    journal log;
    typename feeder<ref<listener>>::results fed;
    crowd s;
    const auto to = s.system.spawn<listener>(spawn_options{.max_messages = 1}, log);
    const auto from = s.system.spawn<feeder<ref<listener>>>(to, fed);
    to.send(from.address());
    from.send(feed{0, 1'000});
    if (round % 2 == 0) {
      ASSERT_TRUE(log.wait_for(static_cast<std::size_t>(round)));
    }
    from.stop_now();
    EXPECT_EQ(from.join(), exit_reason::stopped_now);
    ASSERT_TRUE(eventually([&] { return !log.lines().empty() && log.lines().back() == "down"; }));
    to.stop();
    to.join();
    EXPECT_EQ(log.lines().back(), "down");
  }
}

TEST(async_send, does_not_hold_up_the_shutdown_of_its_system) {
  turnstile gate;
  typename feeder<ref<slow_sink>>::results fed;
  crowd s;
  const auto full =
      s.system.spawn<slow_sink>(spawn_options{.where = own_thread, .max_messages = 1}, gate);
  full.send(item{0});
  ASSERT_TRUE(gate.wait_for_one_after(0));
  const auto from = s.system.spawn<feeder<ref<slow_sink>>>(full, fed);
  from.send(feed{0, 5});
  ASSERT_TRUE(wait_for_waiting(s, 1));
  shutdown_report report;
  ASSERT_TRUE(eventually([&] {
    report = s.system.shutdown(10ms);
    return report.stragglers.size() == 1;
  })) << "only the one that hangs";
  EXPECT_EQ(report.stragglers[0].who, full.address());
  EXPECT_EQ(from.join(), exit_reason::stopped);
  gate.let(3);
}

TEST(async_send, ends_with_its_system_whichever_actor_terminates_first) {
  for (int round = 0; round < 20; ++round) {
    std::vector<int> got;
    sink_feeder::results fed;
    pumped_crowd s;
    const auto full = s.system.spawn<sink>(s.here(1), got);
    const auto from = s.system.spawn<sink_feeder>(full, fed);
    from.send(feed{0, 100});
    if (round % 2 == 0) {
      ASSERT_TRUE(wait_for_waiting(s, 1));
    }
  }
}

// ── Circles ───────────────────────────────────────────────────────────────────────────────────

/// Sends a number of messages to another one of its kind, one per handler, and counts what it
/// receives.
class partner : public actor {
 public:
  partner(atomic<int>& got, atomic<int>& sent) : got_(got), sent_(sent) {}
  task<> on(feed f) {
    for (int i = 0; i < f.count; ++i) {
      if (co_await to_.async_send(item{i}) == A) ++sent_;
    }
  }
  void on(item) { ++got_; }
  void on(ref<partner> to) { to_ = std::move(to); }
  void on(const note&) { to_ = {}; }

 private:
  ref<partner> to_;
  atomic<int>& got_;
  atomic<int>& sent_;
};

void check_circle(int actors, unsigned workers, std::size_t limit, int count) {
  atomic<int> got{0};
  atomic<int> sent{0};
  crowd s(workers);
  std::vector<ref<partner>> all;
  for (int i = 0; i < actors; ++i) {
    all.push_back(s.system.spawn<partner>(spawn_options{.max_messages = limit}, got, sent));
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].send(all[(i + 1) % all.size()]);
  for (const auto& each : all) {
    each.send(feed{0, count});
    each.send(feed{0, count});
  }
  EXPECT_TRUE(eventually([&] { return got == 2 * actors * count; }))
      << got << " of " << 2 * actors * count;
  EXPECT_TRUE(eventually([&] { return sent == 2 * actors * count; })) << "and all are told so";
  EXPECT_EQ(s.full.counts().refused, 0u);
  for (const auto& each : all) each.send(note{});
}

TEST(async_send, to_its_own_actor_waits_and_resumes) {
  check_circle(1, 1, 1, 1'000);
  check_circle(1, 2, 4, 10'000);
}

TEST(async_send, of_two_actors_that_wait_for_each_other_resumes) {
  check_circle(2, 1, 1, 1'000);
  check_circle(2, 2, 1, 1'000);
  check_circle(2, 2, 8, 20'000);
}

TEST(async_send, of_many_actors_in_a_wait_cycle_resumes) { check_circle(10, 2, 2, 1'000); }

// ── Several ───────────────────────────────────────────────────────────────────────────────────

TEST(async_send, of_several_is_served_in_the_order_of_their_coming) {
  std::vector<int> got;
  sink_feeder::results fed;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2), got);
  send_items(full, 2);
  std::vector<ref<sink_feeder>> all;
  for (int i = 0; i < 9; ++i) {
    all.push_back(s.system.spawn<sink_feeder>(full, fed));
    all.back().send(feed{10 + i, 1});
    ASSERT_TRUE(wait_for_waiting(s, static_cast<std::uint64_t>(i) + 1));
  }
  s.pump.drain();
  EXPECT_EQ(s.system.statistics().handlers_waiting, 7u) << "no more than there is room for";
  s.play();
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
  s.play();
  EXPECT_THAT(got, ElementsAre(0, 1, 10, 11, 12, 13, 14, 15, 16, 17, 18));
}

TEST(async_send, of_many_to_one_are_all_served) {
  class adder : public actor {
   public:
    explicit adder(atomic<int>& sum) : sum_(sum) {}
    void on(item i) { sum_ += i.number; }

   private:
    atomic<int>& sum_;
  };
  atomic<int> sum{0};
  std::vector<std::unique_ptr<typename feeder<ref<adder>>::results>> fed;
  crowd s;
  const auto full = s.system.spawn<adder>(spawn_options{.max_messages = 3}, sum);
  for (int i = 0; i < 100; ++i) {
    fed.push_back(std::make_unique<typename feeder<ref<adder>>::results>());
    s.system.spawn<feeder<ref<adder>>>(full, *fed.back()).send(feed{1, 100});
  }
  EXPECT_TRUE(eventually([&] { return sum == 100 * 5'050; }));
  EXPECT_TRUE(eventually([&] { return s.system.statistics().actors_alive == 1; }));
  for (const auto& each : fed) {
    EXPECT_THAT(each->became, SizeIs(100));
    EXPECT_THAT(each->became, Each(A));
  }
  EXPECT_EQ(s.full.counts(), overload_counts{});
}

// ── Beside pauses ─────────────────────────────────────────────────────────────────────────────

TEST(async_send, does_not_end_the_pause_of_its_receiver) {
  std::vector<int> got;
  typename feeder<ref<sink_feeder>>::results fed;
  sink_feeder::results middle_fed;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2), got);
  const auto middle =
      s.system.spawn<sink_feeder>(spawn_options{.max_messages = 2}, full, middle_fed);
  const auto from = s.system.spawn<feeder<ref<sink_feeder>>>(middle, fed);
  // It passes messages on with a plain send, so it is suspended itself.
  from.send(feed{0, 20});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  ASSERT_TRUE(wait_for_waiting(s, 1));
  EXPECT_EQ(s.system.statistics().senders_paused, 1u);
  EXPECT_EQ(s.full.counts().refused, 0u);
  EXPECT_TRUE(eventually([&] {
    s.play();
    return got.size() == 20;
  }));
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 20)));
  EXPECT_EQ(s.full.counts().refused, 0u) << "so nothing is lost on the way";
}

TEST(async_send, of_a_suspended_actor_resumes_after_the_suspension) {
  std::vector<int> got;
  std::vector<int> other_got;
  sink_feeder::results fed;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(1), got);
  const auto other = s.system.spawn<sink>(s.here(1), other_got);
  class both : public actor {
   public:
    both(ref<sink> first, ref<sink> second, sink_feeder::results& out)
        : first_(std::move(first)), second_(std::move(second)), out_(out) {}
    task<> on(feed) {
      (void)co_await first_.async_send(item{1});
      ++out_.fed;
    }
    void on(const note&) { send_items(second_, 2); }

   private:
    const ref<sink> first_;
    const ref<sink> second_;
    sink_feeder::results& out_;
  };
  full.send(item{0});
  const auto from = s.system.spawn<both>(full, other, fed);
  from.send(feed{});
  from.send(note{});
  ASSERT_TRUE(wait_for_waiting(s, 1));
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  EXPECT_TRUE(eventually([&] {
    s.play();
    return fed.fed == 1;
  }));
  s.play();
  EXPECT_THAT(got, ElementsAre(0, 1));
  EXPECT_THAT(other_got, ElementsAre(0, 1));
}

// ── Policies ──────────────────────────────────────────────────────────────────────────────────

std::vector<delivery> feed_to_full(pumped_crowd& s, const ref<sink>& full, int count) {
  sink_feeder::results fed;
  const auto from = s.system.spawn<sink_feeder>(full, fed);
  from.send(feed{0, count});
  EXPECT_TRUE(eventually([&] { return fed.fed == 1; }));
  return fed.became;
}

TEST(async_send, to_one_that_refuses_is_refused_at_once) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2, overflow::refuse), got);
  EXPECT_THAT(feed_to_full(s, full, 3), ElementsAre(A, A, R));
  EXPECT_EQ(s.full.counts(), (overload_counts{.refused = 1}));
  s.play();
  EXPECT_THAT(got, ElementsAre(0, 1));
}

TEST(async_send, to_one_that_drops_the_newest_is_dropped_at_once) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2, overflow::drop_newest), got);
  EXPECT_THAT(feed_to_full(s, full, 3), ElementsAre(A, A, D));
  EXPECT_EQ(s.full.counts(), (overload_counts{.dropped = 1}));
}

TEST(async_send, to_one_that_drops_the_oldest_takes_its_place_at_once) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2, overflow::drop_oldest), got);
  EXPECT_THAT(feed_to_full(s, full, 3), ElementsAre(A, A, A));
  EXPECT_EQ(s.full.counts(), (overload_counts{.dropped = 1}));
  s.play();
  EXPECT_THAT(got, ElementsAre(1, 2));
}

TEST(async_send, to_one_that_fails_is_refused_and_fails_it_at_once) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2, overflow::fail_receiver), got);
  EXPECT_THAT(feed_to_full(s, full, 3), ElementsAre(A, A, R));
  s.play();
  EXPECT_EQ(full.join(), exit_reason::failed);
}

TEST(async_send, to_one_that_redirects_waits_for_the_target) {
  std::vector<int> got;
  std::vector<int> target_got;
  sink_feeder::results fed;
  pumped_crowd s;
  const auto target = s.system.spawn<sink>(s.here(2), target_got);
  const auto full = s.system.spawn<sink>(s.here(2, overflow::redirect_to(target)), got);
  const auto from = s.system.spawn<sink_feeder>(full, fed);
  from.send(feed{0, 5});
  ASSERT_TRUE(wait_for_waiting(s, 1));
  EXPECT_EQ(s.full.counts(), (overload_counts{.redirected = 3}));
  EXPECT_TRUE(eventually([&] {
    s.play();
    return fed.fed == 1;
  }));
  s.play();
  EXPECT_THAT(fed.became, ElementsAre(A, A, A, A, A));
  EXPECT_THAT(got, ElementsAre(0, 1));
  EXPECT_THAT(target_got, ElementsAre(2, 3, 4));
}

TEST(async_send, to_one_that_redirects_to_one_that_refuses_is_refused) {
  std::vector<int> got;
  std::vector<int> target_got;
  pumped_crowd s;
  const auto target = s.system.spawn<sink>(s.here(1, overflow::refuse), target_got);
  const auto full = s.system.spawn<sink>(s.here(1, overflow::redirect_to(target)), got);
  EXPECT_THAT(feed_to_full(s, full, 3), ElementsAre(A, A, R));
  EXPECT_EQ(s.full.counts(), (overload_counts{.refused = 1, .redirected = 2}));
}

TEST(async_send, beyond_a_budget_is_refused_at_once) {
  std::vector<int> got;
  pumped_crowd s;
  spawn_options options = s.here(10);
  options.memory_budget = budget{100};
  const auto full = s.system.spawn<sink>(options, got);
  EXPECT_THAT(feed_to_full(s, full, 5), ElementsAre(A, A, A, R, R));
  EXPECT_EQ(s.full.counts(), (overload_counts{.refused = 2}));
  s.play();
  EXPECT_THAT(feed_to_full(s, full, 1), ElementsAre(A)) << "what was refused is not charged";
}

TEST(async_send, beyond_the_budget_of_the_system_is_refused_at_once) {
  std::vector<int> got;
  recorder told;
  system_options options = told.options(1);
  options.memory_budget = 1;
  pumped_crowd s(std::move(options));
  const auto full = s.system.spawn<sink>(s.here(10), got);
  EXPECT_THAT(feed_to_full(s, full, 5), ::testing::Contains(R));
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
}

class limited : public actor {
 public:
  using message_limits = troupe::message_limits<at_most<item, 2>>;
  explicit limited(int& got) : got_(got) {}
  void on(item) { ++got_; }

 private:
  int& got_;
};

TEST(async_send, beyond_the_limit_of_a_type_is_refused_at_once) {
  int got = 0;
  typename feeder<ref<limited>>::results fed;
  pumped_crowd s;
  const auto full = s.system.spawn<limited>(s.here(10), got);
  const auto from = s.system.spawn<feeder<ref<limited>>>(full, fed);
  from.send(feed{0, 4});
  EXPECT_TRUE(eventually([&] { return fed.fed == 1; }));
  EXPECT_THAT(fed.became, ElementsAre(A, A, R, R));
  s.play();
  EXPECT_EQ(got, 2);
}

// ── Large ones ────────────────────────────────────────────────────────────────────────────────

template <std::size_t Bytes>
struct block {
  std::array<char, Bytes> bytes;
};

TEST(async_send, of_one_as_large_as_the_mailbox_waits_until_that_is_half_empty) {
  class store : public actor {
   public:
    explicit store(std::vector<int>& got) : got_(got) {}
    void on(item i) { got_.push_back(i.number); }
    void on(const block<960>&) { got_.push_back(960); }
    void on(const block<5'000>&) { got_.push_back(5'000); }

   private:
    std::vector<int>& got_;
  };
  class carrier : public actor {
   public:
    carrier(ref<store> to, std::vector<delivery>& became, event& done)
        : to_(std::move(to)), became_(became), done_(done) {}
    task<> on(feed) {
      became_.push_back(co_await to_.async_send(block<960>{}));
      became_.push_back(co_await to_.async_send(block<5'000>{}));
      done_.set();
    }

   private:
    const ref<store> to_;
    std::vector<delivery>& became_;
    event& done_;
  };
  std::vector<int> got;
  std::vector<delivery> became;
  event done;
  pumped_crowd s;
  spawn_options options = s.here(8);
  options.max_bytes = 1'024;
  const auto full = s.system.spawn<store>(options, got);
  EXPECT_THAT(send_items(full, 6), Each(A));
  const auto from = s.system.spawn<carrier>(full, became, done);
  from.send(feed{});
  ASSERT_TRUE(wait_for_waiting(s, 1));
  EXPECT_TRUE(eventually([&] {
    s.play();
    return done.is_set();
  }));
  s.play();
  EXPECT_THAT(became, ElementsAre(A, A)) << "the second one alone is more than the limit";
  EXPECT_THAT(got, ElementsAre(0, 1, 2, 3, 4, 5, 960, 5'000));
}

// ── Placement ─────────────────────────────────────────────────────────────────────────────────

TEST(async_send, between_actors_of_one_pump_resumes_while_the_pump_runs) {
  std::vector<int> got;
  sink_feeder::results fed;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2), got);
  const auto from =
      s.system.spawn<sink_feeder>(spawn_options{.where = bound_to(s.pump)}, full, fed);
  from.send(feed{0, 50});
  s.play();
  EXPECT_EQ(fed.fed, 1);
  EXPECT_THAT(fed.became, Each(A));
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 50)));
}

TEST(async_send, between_actors_that_have_their_own_threads_resumes) {
  std::vector<int> got;
  sink_feeder::results fed;
  crowd s;
  const auto full =
      s.system.spawn<sink>(spawn_options{.where = own_thread, .max_messages = 2}, got);
  const auto from = s.system.spawn<sink_feeder>(spawn_options{.where = own_thread}, full, fed);
  from.send(feed{0, 1'000});
  ASSERT_TRUE(eventually([&] { return fed.fed == 1; }));
  full.stop();
  full.join();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 1'000)));
}

TEST(async_send, to_an_actor_of_another_system_waits_too) {
  std::vector<int> got;
  sink_feeder::results fed;
  pumped_crowd receivers;
  crowd senders;
  const auto full = receivers.system.spawn<sink>(receivers.here(2), got);
  const auto from = senders.system.spawn<sink_feeder>(full, fed);
  from.send(feed{0, 20});
  ASSERT_TRUE(wait_for_waiting(receivers, 1)) << "counted where the mailbox is full";
  EXPECT_TRUE(eventually([&] {
    receivers.play();
    return fed.fed == 1;
  }));
  receivers.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 20)));
}

TEST(async_send, to_an_actor_whose_system_ends_is_refused) {
  std::vector<int> got;
  sink_feeder::results fed;
  crowd senders;
  ref<sink> full;
  {
    pumped_crowd receivers;
    full = receivers.system.spawn<sink>(receivers.here(2), got);
    senders.system.spawn<sink_feeder>(full, fed).send(feed{0, 4});
    ASSERT_TRUE(wait_for_waiting(receivers, 1));
  }
  ASSERT_TRUE(eventually([&] { return fed.fed == 1; }));
  EXPECT_EQ(how_many(fed.became, A) + how_many(fed.became, R), 4);
  EXPECT_EQ(fed.became.back(), R);
}

TEST(async_send, of_an_actor_whose_system_ends_leaves_the_line) {
  std::vector<int> got;
  sink_feeder::results fed;
  pumped_crowd receivers;
  const auto full = receivers.system.spawn<sink>(receivers.here(2), got);
  {
    crowd senders;
    senders.system.spawn<sink_feeder>(full, fed).send(feed{0, 4});
    ASSERT_TRUE(wait_for_waiting(receivers, 1));
  }
  EXPECT_EQ(receivers.system.statistics().handlers_waiting, 0u);
  receivers.play();
  EXPECT_THAT(got, ElementsAre(0, 1));
}

// ── All at once ───────────────────────────────────────────────────────────────────────────────

struct chaos;
class citizen;
struct town {
  std::vector<ref<citizen>> all;
  atomic<long> sent{0};
  atomic<long> handled{0};
};

/// Sends to the next actor, waiting or not, until it is stopped or fails.
class citizen : public actor {
 public:
  citizen(town& of, unsigned seed) : town_(of), random_(seed * 2'654'435'761u + 1) {}
  task<> on(feed f) {
    const counted<chaos> frame;
    for (int i = 0; i < f.count; ++i) {
      const auto to = pick();
      if (co_await to.async_send(item{i}) == A) ++town_.sent;
    }
  }
  void on(item i) {
    ++town_.handled;
    if (i.number % 7 == 0 && pick().send(item{1}) != R) ++town_.sent;
  }
  void on(explode) { throw std::runtime_error("exploded"); }

 private:
  ref<citizen> pick() {
    random_ = random_ * 1'664'525u + 1'013'904'223u;
    return town_.all[(random_ >> 8) % town_.all.size()];
  }
  town& town_;
  unsigned random_;
};

TEST(async_send, among_many_that_end_at_any_time_loses_nothing) {
  for (unsigned round = 0; round < 10; ++round) {
    town t;
    crowd s;
    constexpr unsigned people = 12;
    for (unsigned i = 0; i < people; ++i) {
      t.all.push_back(
          s.system.spawn<citizen>(spawn_options{.max_messages = 1 + i % 4}, t, round * people + i));
    }
    for (const auto& each : t.all) {
      for (int i = 0; i < 3; ++i) each.send(feed{0, 200});
    }
    for (unsigned i = 0; i < people; i += 3) {
      std::this_thread::yield();
      if (i % 2 == 0)
        t.all[i].stop_now();
      else
        t.all[i].send(explode{});
    }
    ASSERT_TRUE(s.system.shutdown(patience).complete());
    EXPECT_EQ(counted<chaos>::alive(), 0);
    EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
    EXPECT_GT(t.handled, 0);
    t.all.clear();
  }
}

TEST(async_send, of_one_that_alone_is_more_than_the_limit_holds_neither_side) {
  class store : public actor {
   public:
    void on(const block<5'000>&) {}
  };
  class carrier : public actor {
   public:
    explicit carrier(ref<store> to) : to_(std::move(to)) {}
    task<> on(feed) { EXPECT_EQ(co_await to_.async_send(block<5'000>{}), A); }

   private:
    const ref<store> to_;
  };
  pumped_crowd s;
  spawn_options options = s.here(8);
  options.max_bytes = 1'024;
  auto to = s.system.spawn<store>(options);
  auto from = s.system.spawn<carrier>(spawn_options{.where = bound_to(s.pump)}, to);
  from.send(feed{});
  s.play();
  to = {};
  from = {};
  s.play();
  EXPECT_EQ(s.system.statistics().actors_alive, 0u);
}

TEST(async_send, of_an_exclusive_handler_to_itself_is_no_wait_cycle) {
  class narrow : public actor {
   public:
    explicit narrow(std::vector<int>& got) : got_(got) {}
    void on(item i) { got_.push_back(i.number); }
    exclusive_task<> on(feed f) {
      for (int i = 0; i < f.count; ++i) {
        EXPECT_EQ(co_await self(this).async_send(item{f.first + i}), A);
      }
    }

   private:
    std::vector<int>& got_;
  };
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<narrow>(s.here(2), got);
  full.send(feed{0, 5});
  s.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(0, 5)));
  EXPECT_EQ(s.full.counts().wait_cycles, 0u) << "it is never in a line";
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
}

}  // namespace
}  // namespace troupe::test
