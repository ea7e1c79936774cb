// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "ask_test_support.hpp"
#include "overload_test_support.hpp"
#include "test_support.hpp"

namespace troupe::test {

struct theirs {
  int number;
};

}  // namespace troupe::test

template <>
inline constexpr auto troupe::priority_of<troupe::test::theirs> = troupe::priority::high;

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

struct high {
  static constexpr auto priority = troupe::priority::high;
  int number;
};
struct normal {
  int number;
};
struct high_question {
  static constexpr auto priority = troupe::priority::high;
};
struct has_a_member_of_that_name {
  int priority;
};

static_assert(priority_of<high> == priority::high);
static_assert(priority_of<theirs> == priority::high);
static_assert(priority_of<normal> == priority::normal);
static_assert(priority_of<has_a_member_of_that_name> == priority::normal);

std::string named(char kind, int number) {
  std::string text(1, kind);
  return text += std::to_string(number);
}

/// Records what it handles; does what the test says when it handles normal{0}.
class reader : public actor {
 public:
  explicit reader(journal& log, std::function<void(reader&)> first = {})
      : log_(log), first_(std::move(first)) {}
  void on(high m) { log_.write(named('h', m.number)); }
  void on(theirs m) { log_.write(named('t', m.number)); }
  void on(normal m) {
    log_.write(named('n', m.number));
    if (m.number == 0 && first_) first_(*this);
  }
  int on(high_question) {
    log_.write("asked");
    return 42;
  }
  [[nodiscard]] self_ref<reader> me() { return self(this); }

 private:
  journal& log_;
  const std::function<void(reader&)> first_;
};

// ── Order ─────────────────────────────────────────────────────────────────────────────────────

TEST(priority, a_high_message_is_handled_before_all_normal_ones_that_wait) {
  journal log;
  stage s;
  const auto to = s.spawn<reader>(log);
  s.play();
  to.send(normal{1});
  to.send(normal{2});
  to.send(high{3});
  to.send(theirs{4});
  to.send(normal{5});
  to.send(high{6});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("h3", "t4", "h6", "n1", "n2", "n5"));
}

TEST(priority, a_high_message_sent_during_a_turn_is_handled_next) {
  journal log;
  system s{{.workers = 1}};
  event ready;
  event go;
  const auto to = s.spawn<reader>(log, [&](reader& me) {
    ready.set();
    go.wait();
    me.me().send(normal{3});
    me.me().send(high{4});
  });
  // They come together, so that the turn has taken them all when the high one is sent.
  s.spawn<probe>(log).send(call{[&](probe&) {
    to.send(normal{0});
    to.send(normal{1});
    to.send(normal{2});
  }});
  ASSERT_TRUE(ready.wait());
  to.send(high{5});
  go.set();
  ASSERT_TRUE(log.wait_for(7));
  EXPECT_THAT(log.lines(), ::testing::Contains("destroyed"));
  auto lines = log.lines();
  std::erase(lines, "destroyed");
  EXPECT_THAT(lines, ElementsAre("n0", "h5", "h4", "n1", "n2", "n3"));
}

TEST(priority, a_high_message_overtakes_messages_that_the_turn_has_taken) {
  journal log;
  stage s;
  const auto to = s.spawn<reader>(log, [](reader& me) { me.me().send(high{9}); });
  s.play();
  to.send(normal{1});
  to.send(high{2});
  to.send(normal{0});
  to.send(normal{3});
  s.play();
  // Messages that are sent while a pump drains are handled in the next round.
  EXPECT_THAT(log.lines(), ElementsAre("h2", "n1", "n0", "n3", "h9"));
}

TEST(priority, a_round_of_a_pump_handles_all_that_waits_when_it_begins) {
  journal log;
  stage s;
  const auto to = s.spawn<reader>(log);
  s.play();
  to.send(normal{1});
  to.send(normal{2});
  to.send(high{3});
  EXPECT_EQ(s.pump.drain_at_most(1), 1u);
  EXPECT_THAT(log.lines(), ElementsAre("h3"));
  to.send(normal{4});
  EXPECT_EQ(s.pump.drain(), 3u);
  EXPECT_THAT(log.lines(), ElementsAre("h3", "n1", "n2", "n4"));
}

TEST(priority, a_request_of_a_high_type_is_handled_before_normal_messages) {
  journal log;
  stage s;
  const auto to = s.spawn<reader>(log);
  s.play();
  to.send(normal{1});
  auto question = to.ask<high_question>(no_timeout);
  s.play();
  EXPECT_EQ(*question.get(), 42);
  EXPECT_THAT(log.lines(), ElementsAre("asked", "n1"));
}

TEST(priority, a_stop_is_a_normal_message) {
  journal log;
  stage s;
  const auto to = s.spawn<reader>(log);
  s.play();
  to.send(normal{1});
  to.stop();
  to.send(high{2});
  to.send(normal{3});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("h2", "n1"));
  EXPECT_EQ(to.join(), exit_reason::stopped);
}

TEST(priority, a_timer_s_tick_has_that_of_its_message) {
  journal log;
  stage s;
  const auto to = s.spawn<reader>(log);
  s.play();
  to.send(normal{1});
  to.send_after(1ms, normal{2});
  to.send_after(1ms, high{3});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().messages_waiting == 3; }));
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("h3", "n1", "n2"));
}

TEST(priority, through_a_recipient_it_is_the_same) {
  journal log;
  stage s;
  const recipient<high, normal> to = s.spawn<reader>(log);
  s.play();
  to.send(normal{1});
  to.send(high{2});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("h2", "n1"));
}

// ── Fairness ──────────────────────────────────────────────────────────────────────────────────

TEST(priority, after_sixteen_high_ones_in_a_row_a_normal_one_that_waits_is_handled) {
  journal log;
  stage s;
  const auto to = s.spawn<reader>(log);
  s.play();
  for (int i = 1; i <= 3; ++i) to.send(normal{i});
  for (int i = 1; i <= 40; ++i) to.send(high{i});
  s.play();
  const auto lines = log.lines();
  ASSERT_EQ(lines.size(), 43u);
  EXPECT_EQ(lines[15], "h16");
  EXPECT_EQ(lines[16], "n1");
  EXPECT_EQ(lines[17], "h17");
  EXPECT_EQ(lines[33], "n2");
  EXPECT_EQ(lines[42], "n3");
}

TEST(priority, a_normal_message_is_handled_after_at_most_sixteen_high_ones) {
  class sends_one : public actor {
   public:
    explicit sends_one(journal& log) : log_(log) {}
    void on(high m) {
      log_.write(named('h', m.number));
      if (m.number == 5) self(this).send(normal{1});
    }
    void on(normal m) { log_.write(named('n', m.number)); }

   private:
    journal& log_;
  };
  journal log;
  stage s;
  const auto to = s.spawn<sends_one>(log);
  s.play();
  for (int i = 1; i <= 40; ++i) to.send(high{i});
  (void)s.pump.drain_at_most(100);
  ASSERT_EQ(log.lines().size(), 41u);
  EXPECT_EQ(log.lines()[16], "n1");
}

// A chain of high-priority messages that never ends.
TEST(priority, one_that_keeps_itself_busy_with_high_messages_handles_normal_ones) {
  class busy : public actor {
   public:
    explicit busy(event& done) : done_(done) {}
    void on(high m) {
      if (!over_) self(this).send(high{m.number + 1});
    }
    void on(normal) {
      over_ = true;
      done_.set();
    }

   private:
    event& done_;
    bool over_ = false;
  };
  for (const placement where : {pool, own_thread}) {
    event done;
    system s{{.workers = 1}};
    const auto to = s.spawn<busy>(spawn_options{.where = where}, done);
    to.send(high{0});
    to.send(high{0});
    to.send(normal{0});
    EXPECT_TRUE(done.wait());
  }
}

// ── What is kept ──────────────────────────────────────────────────────────────────────────────

TEST(priority, stashed_messages_are_handled_in_their_order_of_arrival) {
  class exclusive : public actor {
   public:
    explicit exclusive(journal& log) : log_(log) {}
    exclusive_task<> on(int) {
      log_.write("begins");
      co_await sleep_for(5ms);
      log_.write("ends");
    }
    void on(high m) { log_.write(named('h', m.number)); }
    void on(normal m) { log_.write(named('n', m.number)); }

   private:
    journal& log_;
  };
  journal log;
  stage s;
  const auto to = s.spawn<exclusive>(log);
  to.send(int{0});
  s.play();
  for (int i = 1; i <= 2; ++i) {
    to.send(normal{i});
    s.play();
    to.send(high{i});
    s.play();
  }
  ASSERT_TRUE(eventually([&] {
    s.play();
    return log.lines().size() == 6;
  }));
  EXPECT_THAT(log.lines(), ElementsAre("begins", "ends", "n1", "h1", "n2", "h2"));
}

TEST(priority, replaying_a_stashed_message_keeps_older_messages_before_newer_ones) {
  struct wait_for_it {};
  struct asks {};
  class keeper : public actor {
   public:
    explicit keeper(std::optional<reply<int>>& owed) : owed_(owed) {}
    void on(asks, reply<int> owed) { owed_.emplace(std::move(owed)); }

   private:
    std::optional<reply<int>>& owed_;
  };
  class exclusive : public actor {
   public:
    exclusive(journal& log, ref<keeper> to) : log_(log), to_(std::move(to)) {}
    exclusive_task<> on(wait_for_it) {
      (void)co_await to_.ask<asks>(no_timeout);
      log_.write("ends");
    }
    void on(high m) { log_.write(named('h', m.number)); }
    void on(normal m) { log_.write(named('n', m.number)); }

   private:
    journal& log_;
    const ref<keeper> to_;
  };
  journal log;
  std::optional<reply<int>> owed;
  system s;
  pump p(s);
  const auto to = s.spawn<exclusive>({.where = bound_to(p)}, log,
                                     s.spawn<keeper>({.where = bound_to(p)}, owed));
  to.send(wait_for_it{});
  p.run_until_idle();
  ASSERT_TRUE(owed);
  owed->set_value(1);
  to.send(normal{1});
  to.send(high{1});
  // The high-priority message, which is stashed, and the reply.
  (void)p.drain_at_most(2);
  EXPECT_THAT(log.lines(), ElementsAre("ends"));
  to.send(normal{2});
  (void)p.drain_at_most(10);
  EXPECT_THAT(log.lines(), ElementsAre("ends", "h1", "n1", "n2"));
}

// ── Limits ────────────────────────────────────────────────────────────────────────────────────

TEST(priority, limits_count_high_and_normal_messages_alike) {
  journal log;
  pumped_crowd c;
  const auto to = c.system.spawn<reader>(c.here(2, overflow::refuse), log);
  c.play();
  EXPECT_EQ(to.send(normal{1}), delivery::accepted);
  EXPECT_EQ(to.send(high{2}), delivery::accepted);
  EXPECT_EQ(to.send(high{3}), delivery::refused);
  c.play();
  EXPECT_THAT(log.lines(), ElementsAre("h2", "n1"));
  EXPECT_EQ(to.send(high{4}), delivery::accepted);
  c.play();
  EXPECT_EQ(c.full.counts().refused, 1u);
  EXPECT_EQ(log.lines().back(), "h4");
}

TEST(priority, drop_oldest_drops_high_messages_only_if_no_normal_ones_are_left) {
  journal log;
  pumped_crowd c;
  const auto to = c.system.spawn<reader>(c.here(3, overflow::drop_oldest), log);
  c.play();
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(to.send(normal{i}), delivery::accepted);
  EXPECT_EQ(to.send(high{4}), delivery::accepted);  // in the place of n1
  c.play();
  EXPECT_THAT(log.lines(), ElementsAre("h4", "n2", "n3"));
  for (int i = 1; i <= 4; ++i) to.send(high{i});
  to.send(normal{5});
  to.send(normal{6});
  c.play();
  const auto lines = log.lines();
  EXPECT_THAT(std::vector(lines.begin() + 3, lines.end()), ElementsAre("h3", "h4", "n6"));
  EXPECT_EQ(c.full.counts().dropped, 4u);
}

TEST(priority, dropped_messages_leave_nothing_behind) {
  journal log;
  pumped_crowd c;
  {
    const auto to = c.system.spawn<reader>(c.here(2, overflow::drop_oldest), log);
    for (int i = 0; i < 50; ++i) {
      to.send(high{i});
      to.send(normal{i + 1});
    }
    to.stop_now();
  }
  c.play();
  EXPECT_TRUE(c.system.shutdown(patience).complete());
  EXPECT_EQ(c.system.statistics().messages_waiting, 0u);
}

TEST(priority, a_redirected_message_keeps_it) {
  journal log;
  pumped_crowd c;
  const auto second = c.system.spawn<reader>(c.here(10), log);
  const auto first = c.system.spawn<reader>(c.here(1, overflow::redirect_to(second)), log);
  c.play();
  second.send(normal{1});
  first.send(normal{2});
  first.send(high{3});
  c.play();
  const auto lines = log.lines();
  EXPECT_LT(std::find(lines.begin(), lines.end(), "h3"),
            std::find(lines.begin(), lines.end(), "n1"));
}

TEST(priority, messages_that_wait_when_the_actor_terminates_are_dead_letters) {
  journal log;
  stage s;
  const auto watcher = s.spawn<probe>(log);
  const auto to = s.spawn<reader>(log, [](reader& me) {
    me.me().send(high{1});
    me.me().stop_now();
  });
  watcher.send(call{[&](probe& me) { me.watch(to); }});
  s.play();
  to.send(normal{0});
  to.send(high{2});
  to.send(normal{3});
  to.send(normal{4});
  s.play();
  ASSERT_TRUE(log.wait_for(3));
  EXPECT_THAT(log.lines(), ElementsAre("h2", "n0", "down: stopped_now"));
  EXPECT_EQ(s.told.dead_letters().size(), 3u);
  EXPECT_EQ(s.system.statistics().messages_waiting, 0u);
}

// ── Many senders ──────────────────────────────────────────────────────────────────────────────

struct high_numbered {
  static constexpr auto priority = troupe::priority::high;
  int sender;
  int number;
};
struct numbered {
  int sender;
  int number;
};

TEST(priority, order_holds_within_each_priority_for_every_sender) {
  constexpr int senders = 3;
  constexpr int each = sanitized ? 2'000 : 20'000;
  class listener : public actor {
   public:
    explicit listener(int all) : left_(all) {}
    void on(high_numbered m) { look(next_high_[static_cast<std::size_t>(m.sender)], m.number); }
    void on(numbered m) { look(next_[static_cast<std::size_t>(m.sender)], m.number); }

   private:
    void look(int& next, int number) {
      ASSERT_EQ(number, next++);
      if (--left_ == 0) stop();
    }
    int next_high_[senders]{};
    int next_[senders]{};
    int left_;
  };
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE(seed);
  stage s{2};
  for (const placement where : {pool, own_thread, bound_to(s.pump)}) {
    const auto to = s.system.spawn<listener>(
        spawn_options{.where = where, .max_messages = no_limit}, senders * each);
    std::vector<std::thread> threads;
    for (int n = 0; n < senders; ++n) {
      threads.emplace_back([=] {
        std::mt19937 random(seed + static_cast<unsigned>(n));
        int next_high = 0;
        int next = 0;
        for (int i = 0; i < each; ++i) {
          if (random() % 3 == 0) {
            to.send(high_numbered{n, next_high++});
          } else {
            to.send(numbered{n, next++});
          }
        }
      });
    }
    EXPECT_EQ(to.join_for(patience), exit_reason::stopped);
    for (std::thread& thread : threads) thread.join();
  }
}

// Sends messages beyond the limit in one handler; one of them has the reader send itself a
// high-priority one.
class flood_of_normal : public actor {
 public:
  explicit flood_of_normal(ref<reader> to) : to_(std::move(to)) {}
  void on(normal m) {
    for (int i = 1; i <= most + 1; ++i) (void)to_.send(normal{i == m.number ? 0 : i});
  }
  static constexpr int most = 32;

 private:
  const ref<reader> to_;
};

// Sorting the high-priority message in settles the count of handled messages, which may make the
// mailbox half empty.
TEST(priority, a_suspended_sender_resumes_whenever_a_high_message_is_sorted_in) {
  for (int when = 1; when <= flood_of_normal::most; ++when) {
    journal log;
    crowd c(1u);
    const auto to = c.system.spawn<reader>(spawn_options{.max_messages = flood_of_normal::most},
                                           log, [](reader& me) { me.me().send(high{1}); });
    const auto from = c.system.spawn<flood_of_normal>(to);
    from.send(normal{when});
    ASSERT_TRUE(log.wait_for(std::size_t{flood_of_normal::most} + 2));
    EXPECT_EQ(c.system.statistics().senders_paused, 0u) << "high one sent by message " << when;
    from.stop_now();
    EXPECT_EQ(from.join(), exit_reason::stopped_now);
  }
}

}  // namespace
}  // namespace troupe::test
