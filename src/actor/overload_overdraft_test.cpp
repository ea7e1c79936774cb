// SPDX-License-Identifier: Apache-2.0
// Messages that backpressure takes beyond the limits of mailboxes: how many, in which order, and
// when the overdraft is given back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <troupe/detail/memory/memory_size.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "overload.hpp"
#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr auto A = delivery::accepted;
constexpr auto P = delivery::paused;
constexpr auto R = delivery::refused;

struct spin {};
struct heavy {
  std::string text;
};
struct chunk {
  std::uint32_t from;
  std::uint32_t number;
  std::vector<char> content;
};

class scale : public actor {
 public:
  explicit scale(std::vector<std::size_t>& got) : got_(got) {}
  void on(const heavy& m) { got_.push_back(m.text.size()); }

 private:
  std::vector<std::size_t>& got_;
};

system_options with_budget(recorder& told, std::size_t bytes) {
  system_options options = told.options(1);
  options.memory_budget = bytes;
  return options;
}

TEST(overdraft, is_half_of_the_budget_which_is_a_quarter_of_the_memory_by_default) {
  recorder told;
  const troupe::system s{told.options(1)};
  const statistics now = s.statistics();
  EXPECT_EQ(now.memory_budget, detail::memory_of_process() / 4);
  EXPECT_EQ(now.overdraft_limit, now.memory_budget / 2);
  EXPECT_EQ(now.overdraft_bytes, 0u);
}

TEST(overdraft, is_charged_beyond_the_limit_and_given_back_when_the_mailbox_is_half_empty) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(8), got);
  EXPECT_THAT(send_items(full, 8), Each(A));
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
  EXPECT_THAT(send_items(full, 2), Each(P));
  const std::uint64_t two = s.system.statistics().overdraft_bytes;
  EXPECT_GE(two, 2 * sizeof(item));
  EXPECT_THAT(send_items(full, 2), Each(P));
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 2 * two);
  s.play();
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
  EXPECT_EQ(got.size(), 12u);
}

TEST(overdraft, that_is_exhausted_refuses_only_messages_beyond_the_limit) {
  recorder told;
  std::vector<std::size_t> got;
  std::vector<int> others;
  ::testing::internal::CaptureStderr();
  {
    troupe::system s{with_budget(told, 100'000)};
    pump p{s};
    const auto full = s.spawn<scale>(spawn_options{.where = bound_to(p), .max_bytes = 20'000}, got);
    const auto other =
        s.spawn<sink>(spawn_options{.where = bound_to(p), .max_messages = 4}, others);
    EXPECT_EQ(full.send(heavy{std::string(15'000, 'a')}), A);
    EXPECT_EQ(full.send(heavy{std::string(40'000, 'b')}), P);
    EXPECT_EQ(full.send(heavy{std::string(15'000, 'c')}), R) << "50,000 is half of the budget";
    EXPECT_THAT(send_items(other, 4), Each(A)) << "it is below its own limit";
    p.run_until_idle();
    EXPECT_EQ(s.statistics().overdraft_bytes, 0u);
    EXPECT_EQ(full.send(heavy{std::string(15'000, 'd')}), A);
    EXPECT_EQ(full.send(heavy{std::string(40'000, 'e')}), P) << "given back";
    EXPECT_EQ(s.statistics().messages_refused, 1u);
    p.run_until_idle();
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::AllOf(HasSubstr("overdraft"), HasSubstr("50000 bytes"), HasSubstr("heavy"),
                               HasSubstr("memory_budget")));
  EXPECT_EQ(got, (std::vector<std::size_t>{15'000, 40'000, 15'000, 40'000}));
}

TEST(overdraft, that_is_exhausted_is_reported_once_per_second) {
  recorder told;
  std::vector<overload_event::kind> kinds;
  system_options options = with_budget(told, 1'000);
  options.on_overload = [&](const overload_event& e) { kinds.push_back(e.what); };
  std::vector<int> got;
  troupe::system s{options};
  pump p{s};
  const auto full = s.spawn<sink>(spawn_options{.where = bound_to(p), .max_messages = 1}, got);
  std::size_t refused = 0;
  for (int i = 0; i < 100; ++i) refused += full.send(item{i}) == R ? 1 : 0;
  EXPECT_GT(refused, 1u);
  using kind = overload_event::kind;
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), kind::overdraft_exhausted), 1);
  EXPECT_EQ(static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), kind::refused)),
            refused);
  p.run_until_idle();
}

// ── Mailboxes that are never half empty ───────────────────────────────────────────────────────

struct once_more {
  std::uint32_t times;
};

/// Sends each message to itself again. Keeps the highest overdraft that it sees.
class repeater : public actor {
 public:
  struct result {
    std::uint64_t refused = 0;
    std::uint64_t overdraft = 0;
    int ended = 0;
  };
  explicit repeater(result& to) : to_(to) {}
  void on(once_more m) {
    if (m.times == 0) {
      ++to_.ended;
      return;
    }
    to_.refused += self(this).send(once_more{m.times - 1}) == R ? 1 : 0;
    if (m.times % 64 == 0) {
      to_.overdraft = std::max(to_.overdraft, system().statistics().overdraft_bytes);
    }
  }

 private:
  result& to_;
};

/// As above, in batches.
class batch_repeater : public actor {
 public:
  explicit batch_repeater(repeater::result& to) : to_(to) {}
  void on(std::span<once_more> those) {
    for (const once_more& each : those) {
      if (each.times == 0) {
        ++to_.ended;
      } else {
        to_.refused += self(this).send(once_more{each.times - 1}) == R ? 1 : 0;
      }
    }
    to_.overdraft = std::max(to_.overdraft, system().statistics().overdraft_bytes);
  }

 private:
  repeater::result& to_;
};

// 4,000 times 64 messages are 8 MB, and the overdraft is 512 KiB.
template <class Repeater>
void expect_overdraft_of_what_waits(std::size_t limit, int messages) {
  SCOPED_TRACE(limit);
  constexpr std::uint32_t times = 4'000;
  recorder told;
  repeater::result got;
  {
    troupe::system s{with_budget(told, 1 << 20)};
    pump p{s};
    const auto it =
        s.spawn<Repeater>(spawn_options{.where = bound_to(p), .max_messages = limit}, got);
    for (int i = 0; i < messages; ++i) EXPECT_NE(it.send(once_more{times}), R);
    p.run_until_idle();
    EXPECT_EQ(s.statistics().overdraft_bytes, 0u);
    EXPECT_EQ(s.statistics().messages_refused, 0u);
  }
  EXPECT_EQ(got.refused, 0u);
  EXPECT_EQ(got.ended, messages);
  constexpr std::uint64_t envelope_bytes = 32;
  // The messages of a turn are subtracted no later than at its end.
  EXPECT_LE(got.overdraft, (static_cast<std::uint64_t>(messages) + 128) * envelope_bytes);
}

TEST(overdraft, of_an_actor_that_sends_to_itself_is_the_excess_over_its_limit) {
  for (const std::size_t limit : {1u, 2u, 16u, 63u, 64u, 100u}) {
    expect_overdraft_of_what_waits<repeater>(limit, 1);
    expect_overdraft_of_what_waits<repeater>(limit, 64);
    expect_overdraft_of_what_waits<repeater>(limit, 200);
  }
}

TEST(overdraft, of_an_actor_that_sends_itself_batches_is_the_excess_over_its_limit) {
  for (const std::size_t limit : {1u, 16u, 64u}) {
    expect_overdraft_of_what_waits<batch_repeater>(limit, 64);
    expect_overdraft_of_what_waits<batch_repeater>(limit, 200);
  }
}

// A thread with a pump is never suspended. The receiver is as fast as this thread, and never half
// empty.
TEST(overdraft, of_a_mailbox_that_stays_full_is_the_excess_over_its_limit) {
  recorder told;
  std::vector<int> got;
  troupe::system s{with_budget(told, 64 << 10)};
  pump p{s};
  const auto full = s.spawn<sink>(spawn_options{.where = bound_to(p), .max_messages = 8}, got);
  EXPECT_THAT(send_items(full, 8), Each(A));
  EXPECT_THAT(send_items(full, 4, 8), Each(P));
  const std::uint64_t four = s.statistics().overdraft_bytes;
  constexpr int more = 10'000;
  for (int i = 12; i < 12 + more; ++i) {
    EXPECT_EQ(p.drain_at_most(1), 1u);
    ASSERT_EQ(full.send(item{i}), P);
    ASSERT_LE(s.statistics().overdraft_bytes, four + four / 4);
  }
  p.run_until_idle();
  EXPECT_EQ(got, numbers(0, 12 + more));
  EXPECT_EQ(s.statistics().overdraft_bytes, 0u);
}

// More than a mailbox can count.
TEST(overdraft, of_a_million_messages_in_one_handler_keeps_their_order_and_is_given_back) {
  constexpr int most = 700'000;
  class flooder : public actor {
   public:
    explicit flooder(ref<sink> to) : to_(std::move(to)) {}
    void on(explode) {
      for (int i = 0; i < most; ++i) EXPECT_NE(to_.send(item{i}), R);
    }
    void on(item) { to_.send(item{most}); }

   private:
    ref<sink> to_;
  };
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(65'536), got);
  const auto from = s.system.spawn<flooder>(full);
  from.send(explode{});
  from.send(item{0});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  s.pump.drain();
  while (got.size() < most - 1'000) {
    EXPECT_EQ(s.system.statistics().senders_paused, 1u) << "after " << got.size();
    if (::testing::Test::HasFailure()) break;
    for (int i = 0; i < 500 && got.size() < most - 1'000; ++i) s.pump.drain();
  }
  s.play();
  EXPECT_TRUE(eventually([&] {
    s.play();
    return got.size() == most + 1;
  }));
  EXPECT_THAT(got, ElementsAreArray(numbers(0, most + 1)));
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
  EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
  EXPECT_EQ(s.full.counts().refused, 0u);
}

TEST(overdraft, of_uncounted_messages_is_given_back_when_their_actor_terminates) {
  for (const bool at_once : {false, true}) {
    journal log;
    std::vector<int> got;
    pumped_crowd s;
    const auto full = s.system.spawn<sink>(s.here(100'000), got);
    for (int i = 0; i < 600'000; ++i) ASSERT_NE(full.send(item{i}), R);
    EXPECT_GT(s.system.statistics().overdraft_bytes, 0u);
    if (at_once) {
      full.stop_now();
    } else {
      full.send(explode{});
      for (int i = 0; i < 50'000; ++i) (void)full.send(item{i});
    }
    s.play();
    EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
    EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
    EXPECT_EQ(got.size(), at_once ? 0u : 600'000u);
    EXPECT_EQ(s.system.statistics().dead_letters, at_once ? 600'000u : 50'000u);
  }
}

TEST(overdraft, of_messages_that_a_function_actor_has_stashed_stays_charged) {
  struct wanted {};
  pumped_crowd s;
  int later = 0;
  event first;
  const auto full = s.system.spawn<wanted, item>(s.here(100'000), [&](context& self) -> task<> {
    (void)co_await self.receive<wanted>();
    first.set();
    for (int i = 0; i < 600'000; ++i) {
      const item next = co_await self.receive<item>();
      if (next.number == i) ++later;
    }
  });
  for (int i = 0; i < 600'000; ++i) ASSERT_NE(full.send(item{i}), R);
  s.play();
  const std::uint64_t charged = s.system.statistics().overdraft_bytes;
  EXPECT_GT(charged, 0u) << "all of them are kept";
  EXPECT_NE(full.send(wanted{}), R);
  s.play();
  EXPECT_TRUE(first.is_set());
  EXPECT_EQ(later, 600'000);
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
  EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
}

// ── Wait cycles ───────────────────────────────────────────────────────────────────────────────

struct go {};
struct amount {
  int of;
};

/// Floods the other one, and asks it, in an exclusive handler or in an ordinary one.
class party : public actor {
 public:
  explicit party(journal& log) : log_(log) {}
  void on(const ref<party>& other) { other_ = other; }
  void on(item) {}
  // Fills the mailbox of the other one, beyond its limit.
  void on(amount a) { send_items(other_, a.of); }
  int on(spin) { return 1; }
  exclusive_task<> on(go) {
    const auto answer = co_await other_.ask<spin>(10s);
    log_.write(answer ? "answered" : "no answer");
  }
  exclusive_task<> on(explode) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(co_await other_.async_send(item{i}), A);
    log_.write("sent");
  }

 private:
  ref<party> other_;
  journal& log_;
};

TEST(wait_cycle, of_an_exclusive_request_and_a_suspended_responder_is_resolved) {
  for (const bool request_first : {false, true}) {
    journal log;
    pumped_crowd s;
    const auto asks = s.system.spawn<party>(spawn_options{.max_messages = 2}, log);
    const auto asked = s.system.spawn<party>(s.here(100), log);
    asks.send(asked);
    asked.send(asks);
    s.play();
    if (request_first) {
      asks.send(go{});
      ASSERT_TRUE(eventually([&] { return s.system.statistics().messages_waiting == 1; }));
      asked.send(amount{0});
    }
    // Suspended for the mailbox of the requester, which does not handle anything until it has its
    // reply.
    event hold;
    if (!request_first) {
      std::vector<int> got;
      asks.send(go{});
      ASSERT_TRUE(eventually([&] { return s.system.statistics().messages_waiting >= 1; }));
    }
    asked.send(amount{10});
    s.play();
    EXPECT_TRUE(eventually([&] {
      s.play();
      return log.lines().size() == 1;
    }));
    EXPECT_EQ(log.lines().front(), "answered");
    EXPECT_EQ(s.full.counts().refused, 0u);
    hold.set();
    asks.send(ref<party>{});
    asked.send(ref<party>{});
    s.play();
  }
}

TEST(wait_cycle, of_two_exclusive_handlers_that_wait_for_room_is_resolved) {
  journal log;
  pumped_crowd s;
  const auto one = s.system.spawn<party>(s.here(1), log);
  const auto other = s.system.spawn<party>(s.here(1), log);
  one.send(other);
  s.play();
  other.send(one);
  s.play();
  one.send(explode{});
  other.send(explode{});
  s.play();
  EXPECT_THAT(log.lines(), ::testing::ElementsAre("sent", "sent"));
  EXPECT_GT(s.full.counts().wait_cycles, 0u);
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
  one.send(ref<party>{});
  other.send(ref<party>{});
  s.play();
}

// Sends one message when there is room, or asks, and handles nothing else meanwhile.
class loner : public actor {
 public:
  explicit loner(journal& log) : log_(log) {}
  void on(const ref<loner>& other) { other_ = other; }
  void on(item) {}
  int on(spin) { return 1; }
  exclusive_task<> on(explode) {
    EXPECT_EQ(co_await other_.async_send(item{0}), A);
    log_.write("sent");
  }
  exclusive_task<> on(go) {
    const auto answer = co_await other_.ask<spin>(no_timeout);
    log_.write(answer ? "answered" : "no answer");
  }

 private:
  ref<loner> other_;
  journal& log_;
};

// The request comes last: it completes the cycle, and lets the message in.
TEST(wait_cycle, of_an_exclusive_request_and_an_exclusive_handler_that_waits_for_room_is_resolved) {
  journal log;
  pumped_crowd apart;
  pumped_crowd s;
  const auto asks = apart.system.spawn<loner>(apart.here(4), log);
  const auto sends = s.system.spawn<loner>(s.here(100), log);
  asks.send(sends);
  sends.send(asks);
  apart.play();
  s.play();
  asks.send(go{});
  EXPECT_THAT(send_items(asks, 3), Each(A));
  sends.send(explode{});
  s.play();
  ASSERT_EQ(apart.system.statistics().handlers_waiting, 1u);
  EXPECT_TRUE(eventually([&] {
    apart.play();
    s.play();
    return log.lines().size() == 2;
  }));
  EXPECT_THAT(log.lines(), ::testing::ElementsAre("sent", "answered"));
  EXPECT_EQ(apart.full.counts().wait_cycles, 1u);
  asks.send(ref<loner>{});
  sends.send(ref<loner>{});
  apart.play();
  s.play();
}

TEST(wait_cycle, of_fifty_actors_that_flood_each_other_loses_nothing) {
  class ring_member : public actor {
   public:
    explicit ring_member(atomic<int>& handled) : handled_(handled) {}
    void on(const ref<ring_member>& next) { next_ = next; }
    void on(item i) {
      ++handled_;
      if (i.number > 0) next_.send(item{i.number - 1});
    }

   private:
    ref<ring_member> next_;
    atomic<int>& handled_;
  };
  constexpr int hops = sanitized ? 200 : 1'000;
  for (const std::size_t limit : {std::size_t{1}, std::size_t{2}, std::size_t{16}}) {
    atomic<int> handled{0};
    crowd s;
    std::vector<ref<ring_member>> all;
    for (int i = 0; i < 50; ++i) {
      all.push_back(s.system.spawn<ring_member>(spawn_options{.max_messages = limit}, handled));
    }
    for (std::size_t i = 0; i < all.size(); ++i) all[i].send(all[(i + 1) % all.size()]);
    // More messages on their way than there are places.
    const int sent = static_cast<int>(limit) * 50 + 20;
    for (int i = 0; i < sent; ++i) {
      EXPECT_EQ(all[static_cast<std::size_t>(i) % all.size()].send(item{hops}), A);
    }
    EXPECT_TRUE(eventually([&] { return handled == sent * (hops + 1); })) << handled;
    EXPECT_EQ(s.full.counts().refused, 0u);
    EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
    for (const auto& each : all) each.send(ref<ring_member>{});
  }
}

// ── Many senders ──────────────────────────────────────────────────────────────────────────────

struct numbered {
  std::uint32_t from;
  std::uint32_t number;
};

/// Counts the messages of each sender, and those that have come out of order.
class checker : public actor {
 public:
  struct result {
    explicit result(std::size_t senders) : next(senders) {}
    std::vector<std::uint32_t> next;
    std::uint64_t out_of_order = 0;
  };
  explicit checker(result& to) : to_(to) {}
  void on(numbered n) { take(n.from, n.number); }
  void on(const chunk& c) { take(c.from, c.number); }

 private:
  void take(std::uint32_t from, std::uint32_t number) {
    if (to_.next[from]++ != number) ++to_.out_of_order;
  }
  result& to_;
};

/// Sends one number each time that it is told to.
class counting_sender : public actor {
 public:
  counting_sender(ref<checker> to, std::uint32_t from) : to_(std::move(to)), from_(from) {}
  void on(spin) { EXPECT_NE(to_.send(numbered{from_, sent_++}), R); }

 private:
  const ref<checker> to_;
  const std::uint32_t from_;
  std::uint32_t sent_ = 0;
};

/// The most that the statistics of a system say while it lives.
class highest {
 public:
  explicit highest(troupe::system& of) : of_(of) {}
  ~highest() { is_over_ = true; }
  void stop() {
    is_over_ = true;
    thread_.join();
    std::printf("highest: %zu bytes in mailboxes, of which %zu overdraft\n",
                static_cast<std::size_t>(bytes), static_cast<std::size_t>(overdraft));
  }

  std::uint64_t bytes = 0;
  std::uint64_t overdraft = 0;

 private:
  troupe::system& of_;
  atomic<bool> is_over_{false};
  std::jthread thread_{[this] {
    while (!is_over_) {
      const statistics now = of_.statistics();
      bytes = std::max(bytes, now.message_bytes_waiting);
      overdraft = std::max(overdraft, now.overdraft_bytes);
      std::this_thread::sleep_for(1ms);
    }
  }};
};

void expect_all(const checker::result& got, std::uint32_t each) {
  EXPECT_THAT(got.next, Each(each));
  EXPECT_EQ(got.out_of_order, 0u);
}

TEST(many_senders, a_thousand_threads_to_a_mailbox_of_sixteen_lose_nothing_and_keep_their_order) {
  constexpr std::uint32_t threads = sanitized ? 100 : 1'000;
  constexpr std::uint32_t each = 10;
  checker::result got(threads);
  crowd s;
  {
    const auto to = s.system.spawn<checker>(spawn_options{.max_messages = 16}, got);
    std::vector<std::jthread> all;
    for (std::uint32_t t = 0; t < threads; ++t) {
      all.emplace_back([&to, t] {
        for (std::uint32_t i = 0; i < each; ++i) EXPECT_EQ(to.send(numbered{t, i}), A);
      });
    }
    all.clear();
    to.stop();
    EXPECT_EQ(to.join(), exit_reason::stopped);
  }
  expect_all(got, each);
  EXPECT_EQ(s.full.counts().refused, 0u);
}

TEST(many_senders, ten_thousand_actors_and_fifty_threads_lose_nothing_and_keep_their_order) {
  constexpr std::uint32_t actors = sanitized ? 1'000 : 10'000;
  constexpr std::uint32_t threads = sanitized ? 10 : 50;
  constexpr std::uint32_t each = 5;
  checker::result got(actors + threads);
  crowd s;
  {
    const auto to = s.system.spawn<checker>(spawn_options{.max_messages = 16}, got);
    highest most(s.system);
    {
      std::vector<std::jthread> all;
      for (std::uint32_t t = 0; t < threads; ++t) {
        all.emplace_back([&to, t] {
          for (std::uint32_t i = 0; i < each; ++i) EXPECT_EQ(to.send(numbered{actors + t, i}), A);
        });
      }
      for (std::uint32_t i = 0; i < actors; ++i) {
        const auto from = s.system.spawn<counting_sender>(to, i);
        for (std::uint32_t j = 0; j < each; ++j) EXPECT_EQ(from.send(spin{}), A);
      }
    }
    EXPECT_TRUE(eventually([&] { return s.system.statistics().actors_alive == 1; }));
    to.stop();
    EXPECT_EQ(to.join(), exit_reason::stopped);
    most.stop();
    EXPECT_LE(most.overdraft, s.system.statistics().overdraft_limit);
  }
  expect_all(got, each);
  EXPECT_EQ(s.full.counts().refused, 0u);
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
}

// 200 times 256 KiB are six times the default limit of 8 MiB. A thread waits before its message is
// taken, so that the mailbox has at most its limit.
// The memory budget looks at the bytes that wait. If they were settled at the end of a turn only, a
// slow turn of large messages would look like a full system.
TEST(overload_bytes, of_handled_messages_are_released_within_the_turn) {
  class meter : public actor {
   public:
    explicit meter(std::vector<std::uint64_t>& waiting) : waiting_(waiting) {}
    void on(const chunk&) { waiting_.push_back(system().statistics().message_bytes_waiting); }

   private:
    std::vector<std::uint64_t>& waiting_;
  };
  constexpr std::size_t size = std::size_t{64} << 10;
  std::vector<std::uint64_t> waiting;
  pumped_crowd s;
  spawn_options options = s.here(1'000);
  options.max_bytes = std::size_t{1} << 20;
  const auto to = s.system.spawn<meter>(options, waiting);
  for (std::uint32_t i = 0; i < 15; ++i) {
    EXPECT_EQ(to.send(chunk{0, i, std::vector<char>(size)}), A);
  }
  s.play();
  ASSERT_EQ(waiting.size(), 15u);
  EXPECT_GE(waiting.front(), 15 * size);
  EXPECT_LE(waiting.back(), 5 * size) << "the last one, and an eighth of the limit";
}

TEST(many_senders, two_hundred_threads_with_large_messages_wait_for_room_in_bytes) {
  constexpr std::uint32_t threads = sanitized ? 60 : 200;
  constexpr std::uint32_t each = 2;
  constexpr std::size_t size = std::size_t{256} << 10;
  constexpr auto most_in_mailbox = static_cast<int>((std::size_t{8} << 20) / size);
  class scales : public checker {
   public:
    scales(result& to, atomic<int>& in_mailbox, int& most)
        : checker(to), in_mailbox_(in_mailbox), most_(most) {}
    void on(const chunk& c) {
      most_ = std::max(most_, in_mailbox_.load());
      --in_mailbox_;
      checker::on(c);
    }

   private:
    atomic<int>& in_mailbox_;
    int& most_;
  };
  checker::result got(threads);
  atomic<int> in_mailbox{0};  // counted when send() has returned: at least so many are
  int most = 0;
  crowd s;
  {
    const auto to = s.system.spawn<scales>(got, in_mailbox, most);
    {
      std::vector<std::jthread> all;
      for (std::uint32_t t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
          for (std::uint32_t i = 0; i < each; ++i) {
            EXPECT_EQ(to.send(chunk{t, i, std::vector<char>(size)}), A);
            ++in_mailbox;
          }
        });
      }
    }
    to.stop();
    EXPECT_EQ(to.join(), exit_reason::stopped);
  }
  std::printf("at most %d messages of 256 KiB in the mailbox\n", most);
  EXPECT_LE(most, most_in_mailbox);
  expect_all(got, each);
  EXPECT_EQ(s.full.counts().refused, 0u);
}

// More messages than three mailboxes may have, and the last actor begins when the first two are
// suspended.
TEST(pipeline, of_three_actors_at_the_default_limits_loses_nothing_and_keeps_its_order) {
  constexpr std::uint32_t messages = 600'000;
  static_assert(messages > 2 * 4 * 65'536, "more than two mailboxes could count: 4 x the limit");
  class stage : public actor {
   public:
    explicit stage(ref<checker> to) : to_(std::move(to)) {}
    void on(numbered n) { EXPECT_NE(to_.send(n), R); }

   private:
    const ref<checker> to_;
  };
  class source : public actor {
   public:
    explicit source(ref<stage> to) : to_(std::move(to)) {}
    void on(spin) {
      for (int i = 0; i < 100; ++i) EXPECT_NE(to_.send(numbered{0, sent_++}), R);
      if (sent_ < messages) self(this).send(spin{});
    }

   private:
    const ref<stage> to_;
    std::uint32_t sent_ = 0;
  };
  checker::result got(1);
  pumped_crowd s;
  {
    const auto last = s.system.spawn<checker>(spawn_options{.where = bound_to(s.pump)}, got);
    s.system.spawn<source>(s.system.spawn<stage>(last)).send(spin{});
    // Both mailboxes are full, and only the last one can continue.
    EXPECT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 2; }));
    EXPECT_EQ(got.next[0], 0u);
    EXPECT_TRUE(eventually([&] {
      s.play();
      return got.next[0] == messages;
    }));
  }
  expect_all(got, messages);
  EXPECT_EQ(s.full.counts().refused, 0u);
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
}

// A refused message is offered again only if it may be taken later.
TEST(overdraft, decides_which_messages_beyond_the_limit_could_ever_be_taken) {
  recorder told;
  std::vector<std::size_t> got;
  troupe::system s{with_budget(told, 100'000)};
  pump p{s};
  spawn_options options{.where = bound_to(p), .max_bytes = 20'000};
  const auto pauses = s.spawn<scale>(options, got);
  options.on_full = overflow::refuse;
  const auto refuses = s.spawn<scale>(options, got);
  const auto could_take = [](const ref<scale>& it, std::size_t bytes) {
    return detail::ref_access::block(it).could_take(bytes);
  };
  EXPECT_TRUE(could_take(pauses, 15'000));
  EXPECT_TRUE(could_take(pauses, 40'000)) << "the overdraft has room for it";
  EXPECT_FALSE(could_take(pauses, 60'000)) << "more than the whole overdraft";
  EXPECT_TRUE(could_take(refuses, 15'000));
  EXPECT_FALSE(could_take(refuses, 40'000));
}

}  // namespace
}  // namespace troupe::test
