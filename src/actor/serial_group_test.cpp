// SPDX-License-Identifier: Apache-2.0
// Groups: which member runs when.
#include <troupe/actor/serial_group.hpp>

#include <pthread.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/blocking.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Shared by the members of a group without a lock: ThreadSanitizer sees concurrent accesses.
struct shared_book {
  std::uint64_t entries = 0;
  bool is_open = false;

  void write() {
    EXPECT_FALSE(std::exchange(is_open, true)) << "two at a time";
    ++entries;
    is_open = false;
  }
};

struct entry {
  int from;
  int number;
};
struct finish {};

/// Records what it is sent; each sender's entries come in order.
class clerk : public actor {
 public:
  clerk(shared_book& book, int senders, atomic<int>& left)
      : book_(book), last_(static_cast<std::size_t>(senders), -1), left_(left) {}
  void on_start() { book_.write(); }
  void on(entry e) {
    int& last = last_[static_cast<std::size_t>(e.from)];
    EXPECT_EQ(last + 1, e.number) << "of sender " << e.from;
    last = e.number;
    book_.write();
    --left_;
  }
  void on_stop() { book_.write(); }
  ~clerk() { book_.write(); }

 private:
  shared_book& book_;
  std::vector<int> last_;
  atomic<int>& left_;
};

class serial_group_workers : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, serial_group_workers, testing::Values(1u, 2u, 3u, 16u));

TEST_P(serial_group_workers, members_never_run_in_parallel_and_keep_the_order_of_each_sender) {
  constexpr int groups = 3;
  constexpr int members = 4;
  constexpr int threads = 3;
  constexpr int each = sanitized ? 300 : 3'000;
  std::vector<shared_book> books(groups);
  atomic<int> left{groups * members * threads * each};
  system s({.workers = GetParam()});
  std::vector<ref<clerk>> all;
  for (shared_book& book : books) {
    const serial_group group(s);
    for (int m = 0; m < members; ++m)
      all.push_back(s.spawn<clerk>({.group = group}, book, threads, left));
  }
  std::vector<std::thread> senders;
  for (int t = 0; t < threads; ++t) {
    senders.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        for (const auto& to : all) to.send(entry{t, i});
      }
    });
  }
  for (std::thread& each_sender : senders) each_sender.join();
  EXPECT_TRUE(eventually([&] { return left == 0; })) << left;
  EXPECT_TRUE(s.shutdown(patience).complete());
  for (const shared_book& book : books) {
    EXPECT_EQ(book.entries, static_cast<std::uint64_t>(members * (threads * each + 3)));
  }
}

struct ball {
  int left;
};

class player : public actor {
 public:
  player(shared_book& book, event& over) : book_(book), over_(over) {}
  void on(const ref<player>& next) { next_ = next; }
  void on(ball b) {
    book_.write();
    if (b.left == 0) return over_.set();
    next_.send(ball{b.left - 1});
  }
  void on_stop() { next_ = {}; }

 private:
  shared_book& book_;
  event& over_;
  ref<player> next_;
};

TEST_P(serial_group_workers, members_that_send_to_each_other_get_on) {
  constexpr int balls = sanitized ? 2'000 : 20'000;
  shared_book book;
  std::vector<event> over(5);
  system s({.workers = GetParam()});
  {
    const serial_group group(s);
    std::vector<ref<player>> ring;
    for (event& each : over) ring.push_back(s.spawn<player>({.group = group}, book, each));
    for (std::size_t i = 0; i < ring.size(); ++i) ring[i].send(ref{ring[(i + 1) % ring.size()]});
    ring[0].send(ball{balls});
  }
  EXPECT_TRUE(over[balls % 5].wait());
  s.shutdown(patience);
  EXPECT_EQ(book.entries, static_cast<std::uint64_t>(balls + 1));
}

TEST_P(serial_group_workers, a_thousand_of_three_begin_work_and_end) {
  constexpr int groups = sanitized ? 200 : 1'000;
  std::vector<shared_book> books(groups);
  atomic<int> left{groups * 3 * 10};
  system s({.workers = GetParam()});
  {
    std::vector<ref<clerk>> all;
    for (shared_book& book : books) {
      const serial_group group(s);
      for (int m = 0; m < 3; ++m) all.push_back(s.spawn<clerk>({.group = group}, book, 1, left));
    }
    for (int i = 0; i < 10; ++i) {
      for (const auto& to : all) to.send(entry{0, i});
    }
  }
  // No references are left: they terminate when they have nothing left to do.
  EXPECT_TRUE(eventually([&] { return s.statistics().actors_alive == 0; }));
  EXPECT_EQ(left, 0);
  for (const shared_book& book : books) EXPECT_EQ(book.entries, 3u * 13u);
}

TEST_P(serial_group_workers, a_shutdown_in_the_middle_of_work_ends_all_members) {
  for (int round = 0; round < 20; ++round) {
    shared_book book;
    atomic<int> left{0};
    system s({.workers = GetParam()});
    const serial_group group(s);
    std::vector<ref<clerk>> all;
    for (int m = 0; m < 10; ++m) all.push_back(s.spawn<clerk>({.group = group}, book, 1, left));
    for (int i = 0; i < 50; ++i) {
      for (const auto& to : all) to.send(entry{0, i});
    }
    EXPECT_TRUE(s.shutdown(patience).complete());
    EXPECT_EQ(book.entries, 10u * 53u);
  }
}

TEST(serial_group, different_ones_run_in_parallel) {
  journal log;
  event in_one;
  event in_other;
  system s({.workers = 2});
  const serial_group one(s);
  const serial_group other(s);
  s.spawn<probe>({.group = one}, log).send(call{[&](probe&) {
    in_one.set();
    EXPECT_TRUE(in_other.wait());
  }});
  s.spawn<probe>({.group = other}, log).send(call{[&](probe&) {
    in_other.set();
    EXPECT_TRUE(in_one.wait());
  }});
  EXPECT_TRUE(in_one.wait());
  EXPECT_TRUE(in_other.wait());
}

TEST(serial_group, runs_on_its_dispatcher) {
  journal log;
  system s({.workers = 1, .dispatchers = {{.name = "io", .workers = 2}}});
  const serial_group group(s, "io");
  s.spawn<probe>({.group = group}, log).send(call{[&](probe&) {
    std::string name(64, '\0');
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    log.write(name.c_str());
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines()[0], StartsWith("io/"));
}

// ── Waiting ───────────────────────────────────────────────────────────────────────────────────

struct question {};
struct begin {};

class oracle : public actor {
 public:
  int on(question) { return 42; }
};

/// Makes requests in three ways.
class asker : public actor {
 public:
  enum class way { awaits, gets, calls_back };
  asker(journal& log, ref<oracle> whom, way how) : log_(log), whom_(std::move(whom)), how_(how) {}
  task<> on(begin) {
    if (how_ == way::awaits) {
      auto answer = co_await whom_.ask<question>(patience);
      log_.write(std::to_string(answer.value()));
    }
  }
  void on(finish) {
    if (how_ == way::calls_back) {
      whom_.ask<question>(patience).then(
          [this](ask_result<int> answer) { log_.write(std::to_string(answer.value())); });
      return;
    }
    try {
      log_.write(std::to_string(whom_.ask<question>(patience).get().value()));
    } catch (const std::logic_error& e) {
      log_.write(e.what());
    }
  }

 private:
  journal& log_;
  const ref<oracle> whom_;
  const way how_;
};

TEST(serial_group, a_member_may_ask_another_member_without_blocking) {
  journal log;
  system s({.workers = 1});
  const serial_group group(s);
  const auto whom = s.spawn<oracle>({.group = group});
  s.spawn<asker>({.group = group}, log, whom, asker::way::awaits).send(begin{});
  s.spawn<asker>({.group = group}, log, whom, asker::way::calls_back).send(finish{});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_EQ(log.lines(), (std::vector<std::string>{"42", "42"}));
}

TEST(serial_group, get_for_a_member_of_the_same_one_is_an_error) {
  journal log;
  system s({.workers = 2});
  const serial_group group(s);
  const auto whom = s.spawn<oracle>({.group = group});
  s.spawn<asker>({.name = "impatient", .group = group}, log, whom, asker::way::gets).send(finish{});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines()[0], AllOf(HasSubstr("impatient"), HasSubstr("of the same group")));
}

TEST(serial_group, get_for_one_elsewhere_waits_for_it) {
  journal log;
  system s({.workers = 1});
  const serial_group group(s);
  const serial_group other(s);
  for (const auto& whom : {s.spawn<oracle>(), s.spawn<oracle>({.group = other})}) {
    s.spawn<asker>({.group = group}, log, whom, asker::way::gets).send(finish{});
  }
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_EQ(log.lines(), (std::vector<std::string>{"42", "42"}));
}

TEST(serial_group, get_by_the_only_thread_of_the_pool_is_an_error_from_a_group_too) {
  journal log;
  system s({.workers = 1, .blocking_threshold = 0s, .max_threads = 1});
  const serial_group group(s);
  s.spawn<asker>({.group = group}, log, s.spawn<oracle>(), asker::way::gets).send(finish{});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines()[0], HasSubstr("max_threads"));
}

TEST(serial_group, a_blocking_member_delays_only_its_own_group) {
  journal log;
  event begun;
  event go_on;
  system s({.workers = 1, .blocking_threshold = 0s});
  const serial_group group(s);
  const auto first = s.spawn<probe>({.group = group}, log);
  const auto second = s.spawn<probe>({.group = group}, log);
  first.send(call{[&](probe&) {
    blocking([&] {
      begun.set();
      go_on.wait();
      log.write("first");
    });
  }});
  ASSERT_TRUE(begun.wait());
  second.send(note{"second"});
  const auto other = s.spawn<oracle>();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(other.ask<question>(patience).get().value(), 42);
  EXPECT_TRUE(log.lines().empty());
  go_on.set();
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_EQ(log.lines(), (std::vector<std::string>{"first", "second"}));
}

TEST(serial_group, its_member_is_named_when_the_pool_grows) {
  journal log;
  event go_on;
  system s({.workers = 1, .on_pool = [&](const pool_event& e) {
              if (e.what == pool_event::kind::grew) log.write(e.actor);
            }});
  const serial_group group(s);
  s.spawn<probe>({.name = "slow member", .group = group}, log).send(call{[&](probe&) {
    blocking([&] { go_on.wait(); });
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_EQ(log.lines()[0], "slow member");
  go_on.set();
}

// ── Fairness ──────────────────────────────────────────────────────────────────────────────────

struct work {};

class busy : public actor {
 public:
  busy(atomic<int>& handled, event& begun) : handled_(handled), begun_(begun) {}
  void on(work) {
    if (handled_ == 0) begun_.set();
    const time_point until = clock::now() + 4ms;
    while (clock::now() < until) cpu_relax();
    ++handled_;
  }

 private:
  atomic<int>& handled_;
  event& begun_;
};

TEST(serial_group, a_long_turn_ends_between_two_messages_while_other_members_wait) {
  constexpr int count = 100;  // one turn may handle this many
  for (const unsigned workers : {1u, 2u}) {
    journal log;
    event begun;
    atomic<int> handled{0};
    system s({.workers = workers});
    const serial_group group(s);
    const auto one = s.spawn<busy>({.group = group}, handled, begun);
    const auto other = s.spawn<probe>({.group = group}, log);
    for (int i = 0; i < count; ++i) one.send(work{});
    ASSERT_TRUE(begun.wait());
    int then = 0;
    other.send(call{[&](probe&) {
      then = handled;
      log.write("here");
    }});
    ASSERT_TRUE(log.wait_for(1));
    EXPECT_LT(then, count);
    one.stop_now();
  }
}

TEST(serial_group, a_member_that_is_always_busy_starves_no_other_actor) {
  class forever : public actor {
   public:
    void on(work w) { self(this).send(w); }
  };
  system s({.workers = 1});
  const serial_group group(s);
  std::vector<ref<forever>> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(s.spawn<forever>({.group = group}));
    for (int n = 0; n < 300; ++n) all.back().send(work{});
  }
  const auto member = s.spawn<oracle>({.group = group});
  const auto other = s.spawn<oracle>();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(member.ask<question>(patience).get().value(), 42);
    EXPECT_EQ(other.ask<question>(patience).get().value(), 42);
  }
  for (const auto& each : all) each.stop_now();
}

// ── Full mailboxes ────────────────────────────────────────────────────────────────────────────

/// Sends two messages for each one that it receives, until there have been enough.
class doubler : public actor {
 public:
  doubler(shared_book& book, atomic<int>& refused) : book_(book), refused_(refused) {}
  void on(const ref<doubler>& other) { other_ = other; }
  void on(ball b) {
    book_.write();
    for (int i = 0; i < 2 && b.left > 0; ++i) {
      if (other_.send(ball{b.left - 1}) == delivery::refused) ++refused_;
    }
  }
  void on_stop() { other_ = {}; }

 private:
  shared_book& book_;
  atomic<int>& refused_;
  ref<doubler> other_;
};

TEST_P(serial_group_workers, members_that_fill_each_others_mailboxes_do_not_deadlock) {
  shared_book book;
  atomic<int> refused{0};
  system s({.workers = GetParam()});
  const serial_group group(s);
  const spawn_options small{.group = group, .max_messages = 8};
  const auto a = s.spawn<doubler>(small, book, refused);
  const auto b = s.spawn<doubler>(small, book, refused);
  a.send(ref{b});
  b.send(ref{a});
  a.send(ball{12});
  EXPECT_TRUE(eventually([&] { return s.statistics().messages_waiting == 0; }));
  EXPECT_EQ(s.statistics().pauses_timed_out, 0u);
  EXPECT_TRUE(s.shutdown(patience).complete());
}

}  // namespace
}  // namespace troupe::test
