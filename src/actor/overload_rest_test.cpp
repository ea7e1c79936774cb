// SPDX-License-Identifier: Apache-2.0
// State left behind by a message that was not accepted at once: nothing is charged, no place is
// taken, no reference is held. Each test ends with the same check of its actor, whatever became of
// the message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

constexpr auto A = delivery::accepted;
constexpr auto R = delivery::refused;

constexpr int places = 4;

/// Owns a number of bytes, and shares a token that counts the crates that exist.
struct crate {
  std::size_t size;
  std::shared_ptr<int> token = {};
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return size; }
};

/// Takes crates, of which few may wait.
class store : public actor {
 public:
  using message_limits = troupe::message_limits<at_most<crate, places>>;
  void on(const crate&) {}
  void on(item) {}
};

/// Nothing is left of the messages that were sent before: neither bytes in the budget nor places of
/// the type.
void expect_all_is_free(pumped_crowd& s, const ref<store>& of, const budget& group) {
  s.play();
  EXPECT_EQ(group.used(), 0u);
  EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
  for (int i = 0; i < places; ++i) {
    EXPECT_EQ(of.send(crate{10}), A) << "place " << i;
    s.pump.drain();
  }
  for (int i = 0; i < 3; ++i) {
    std::vector<delivery> became;
    for (int place = 0; place < places; ++place) became.push_back(of.send(crate{10}));
    // Few messages fit into the mailbox; the type has its places nevertheless.
    EXPECT_EQ(how_many(became, R), 0) << "round " << i;
    s.play();
  }
  EXPECT_EQ(group.used(), 0u);
}

/// The same, and no reference is left: it terminates when its last reference is released.
void expect_nothing_is_left(pumped_crowd& s, ref<store>&& of, const budget& group) {
  expect_all_is_free(s, of, group);
  of = {};
  EXPECT_TRUE(eventually([&] {
    s.play();
    return s.system.statistics().actors_alive == 0;
  }));
}

ref<store> spawn_store(pumped_crowd& s, std::size_t max_messages, const budget& group,
                       overflow on_full = overflow::backpressure) {
  spawn_options options = s.here(max_messages, on_full);
  options.memory_budget = group;
  return s.system.spawn<store>(options);
}

TEST(overload_cleanup, a_message_refused_by_a_budget_leaves_nothing_behind) {
  for (const overflow& on_full :
       {overflow{overflow::backpressure}, overflow{overflow::refuse},
        overflow{overflow::drop_newest}, overflow{overflow::drop_oldest}}) {
    pumped_crowd s;
    const budget group{5'000};
    auto to = spawn_store(s, 100, group, on_full);
    for (int i = 0; i < 3 * places; ++i) EXPECT_NE(to.send(crate{10'000}), A);
    expect_nothing_is_left(s, std::move(to), group);
  }
}

TEST(overload_cleanup, a_message_refused_by_the_limit_of_its_type_leaves_nothing_behind) {
  pumped_crowd s;
  const budget group{5'000};
  auto to = spawn_store(s, 100, group);
  for (int i = 0; i < places; ++i) EXPECT_EQ(to.send(crate{10}), A);
  for (int i = 0; i < 3 * places; ++i) EXPECT_EQ(to.send(crate{10}), R);
  expect_nothing_is_left(s, std::move(to), group);
}

TEST(overload_cleanup, a_message_refused_by_a_full_mailbox_leaves_nothing_behind) {
  pumped_crowd s;
  const budget group{50'000};
  auto to = spawn_store(s, places, group, overflow::refuse);
  for (int i = 0; i < places; ++i) EXPECT_EQ(to.send(item{i}), A);
  for (int i = 0; i < 3 * places; ++i) EXPECT_EQ(to.send(crate{10}), R);
  expect_nothing_is_left(s, std::move(to), group);
}

TEST(overload_cleanup, a_thread_that_has_waited_for_space_leaves_nothing_behind) {
  pumped_crowd s;
  const budget group{50'000};
  auto to = spawn_store(s, 2, group);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(to.send(item{i}), A);
  std::vector<delivery> became;
  atomic<bool> done{false};
  std::jthread sender([&] {
    for (int i = 0; i < 3 * places; ++i) became.push_back(to.send(crate{10}));
    done = true;
  });
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  EXPECT_TRUE(eventually([&] {
    s.play();
    return done.load();
  }));
  sender.join();
  EXPECT_EQ(how_many(became, A), 3 * places);
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
  expect_nothing_is_left(s, std::move(to), group);
}

TEST(overload_budget, can_be_filled_exactly) {
  pumped_crowd s;
  const budget measure{10'000};
  auto first = spawn_store(s, 100, measure);
  EXPECT_EQ(first.send(crate{100}), A);
  const std::size_t one = measure.used();
  s.play();
  const budget group{2 * one};
  const auto to = spawn_store(s, 100, group);
  EXPECT_EQ(to.send(crate{100}), A);
  EXPECT_EQ(to.send(crate{100}), A);
  EXPECT_EQ(group.used(), group.limit());
  EXPECT_EQ(to.send(crate{100}), R);
  s.play();
  EXPECT_EQ(group.used(), 0u);
}

// ── Handlers that wait for room ───────────────────────────────────────────────────────────────

struct load {
  int count;
  std::size_t size;
};

/// Sends crates one at a time.
class loader : public actor {
 public:
  loader(ref<store> to, std::vector<delivery>& became, std::shared_ptr<int> token = {})
      : to_(std::move(to)), became_(became), token_(std::move(token)) {}
  task<> on(load l) {
    for (int i = 0; i < l.count; ++i) {
      became_.push_back(co_await to_.async_send<crate>(l.size, token_));
    }
  }

 private:
  const ref<store> to_;
  std::vector<delivery>& became_;
  const std::shared_ptr<int> token_;
};

TEST(overload_cleanup, a_handlers_message_refused_by_a_budget_leaves_nothing_behind) {
  std::vector<delivery> became;
  pumped_crowd s;
  const budget group{5'000};
  auto to = spawn_store(s, 100, group);
  {
    const auto from = s.system.spawn<loader>({.where = bound_to(s.pump)}, to, became);
    from.send(load{3 * places, 10'000});
    s.play();
    EXPECT_EQ(how_many(became, R), 3 * places);
  }
  expect_nothing_is_left(s, std::move(to), group);
}

TEST(overload_cleanup, a_handler_that_has_waited_for_space_leaves_nothing_behind) {
  std::vector<delivery> became;
  pumped_crowd s;
  const budget group{50'000};
  auto to = spawn_store(s, 2, group);
  {
    const auto from = s.system.spawn<loader>({.where = bound_to(s.pump)}, to, became);
    from.send(load{3 * places, 10});
    from.send(load{3 * places, 10});
    s.play();
    EXPECT_EQ(how_many(became, A), 6 * places);
    EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
  }
  expect_nothing_is_left(s, std::move(to), group);
}

// No reference to a terminated actor is left: the next actor of its size gets its slot.
template <class Spawn>
void expect_its_slot_is_free(pumped_crowd& s, const address& ended, Spawn&& spawn) {
  s.play();
  const auto next = spawn();
  EXPECT_EQ(detail::address_access::line(ended), detail::address_access::line(address(next)));
  next.stop();
  s.play();
}

TEST(overload_cleanup, a_handler_destroyed_while_it_waits_for_space_leaves_nothing_behind) {
  std::vector<delivery> became;
  const auto token = std::make_shared<int>(0);
  const budget group{50'000};
  pumped_crowd apart;  // the receiver's system, whose pump does not run yet
  pumped_crowd s;
  auto to = spawn_store(apart, 2, group);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(to.send(item{i}), A);
  const auto spawn = [&] {
    return s.system.spawn<loader>({.where = bound_to(s.pump)}, to, became, token);
  };
  auto from = spawn();
  const address was = from;
  from.send(load{places, 10});
  s.play();
  EXPECT_EQ(apart.system.statistics().handlers_waiting, 1u);
  from.stop_now();
  from = {};
  s.play();
  EXPECT_EQ(apart.system.statistics().handlers_waiting, 0u);
  EXPECT_EQ(token.use_count(), 1) << "its message is gone";
  expect_its_slot_is_free(s, was, spawn);
  EXPECT_EQ(s.system.statistics().actors_alive, 0u);
  expect_nothing_is_left(apart, std::move(to), group);
}

TEST(overload_cleanup, handlers_whose_messages_were_let_in_leave_nothing_behind) {
  std::vector<delivery> became;
  const budget group{50'000};
  pumped_crowd s;
  auto to = spawn_store(s, 2, group);
  const auto spawn = [&] {
    return s.system.spawn<loader>({.where = bound_to(s.pump)}, to, became);
  };
  auto from = spawn();
  const address was = from;
  from.send(load{3 * places, 10});
  s.play();
  EXPECT_EQ(how_many(became, A), 3 * places);
  from.stop();
  from = {};
  expect_its_slot_is_free(s, was, spawn);
  expect_nothing_is_left(s, std::move(to), group);
}

// ── Beyond what a mailbox can count ───────────────────────────────────────────────────────────

TEST(overload_cleanup, messages_that_the_mailbox_does_not_count_leave_nothing_behind) {
  pumped_crowd s;
  const budget group{std::size_t{1} << 30};
  auto to = spawn_store(s, 100'000, group);
  for (int i = 0; i < 600'000; ++i) ASSERT_NE(to.send(item{i}), R);
  EXPECT_GT(group.used(), 600'000 * sizeof(item));
  expect_nothing_is_left(s, std::move(to), group);
}

// ── Who is suspended ──────────────────────────────────────────────────────────────────────────

class spawner : public actor {
 public:
  class child : public actor {
   public:
    explicit child(const ref<store>& to) {
      for (int i = 0; i < 5; ++i) (void)to.send(item{i});
    }
  };
  spawner(ref<store> to, int& notes) : to_(std::move(to)), notes_(notes) {}
  void on(load) { child_ = system().spawn<child>(to_); }
  void on(const note&) { ++notes_; }

 private:
  const ref<store> to_;
  int& notes_;
  ref<child> child_;
};

TEST(backpressure, does_not_suspend_an_actor_for_messages_that_a_constructor_sends) {
  int notes = 0;
  const budget group{50'000};
  pumped_crowd apart;
  pumped_crowd s;
  const auto to = spawn_store(apart, 2, group);
  const auto from = s.system.spawn<spawner>({.where = bound_to(s.pump)}, to, notes);
  from.send(load{0, 0});
  from.send(note{"goes on"});
  s.play();
  EXPECT_EQ(notes, 1);
  EXPECT_EQ(apart.system.statistics().senders_paused, 0u);
  apart.play();
  EXPECT_EQ(group.used(), 0u);
}

// An actor may terminate in the handler that has filled two mailboxes.
class last_words : public actor {
 public:
  last_words(ref<store> one, ref<store> other) : one_(std::move(one)), other_(std::move(other)) {}
  void on(load l) {
    for (int i = 0; i < l.count; ++i) {
      (void)one_.send(item{i});
      (void)other_.send(item{i});
    }
    if (l.size != 0) throw std::runtime_error("ends");
  }

 private:
  const ref<store> one_;
  const ref<store> other_;
};

TEST(overload_cleanup, an_actor_that_has_filled_two_mailboxes_leaves_nothing_behind) {
  for (const std::size_t ends : {1u, 0u}) {
    const budget group{50'000};
    pumped_crowd s;
    {
      auto one = spawn_store(s, 2, group);
      auto other = spawn_store(s, 2, group);
      const auto from = s.system.spawn<last_words>({.where = bound_to(s.pump)}, one, other);
      from.send(load{5, ends});
      s.play();
      EXPECT_EQ(s.system.statistics().senders_paused, 0u);
      EXPECT_EQ(group.used(), 0u);
    }
    EXPECT_TRUE(eventually([&] {
      s.play();
      return s.system.statistics().actors_alive == 0;
    })) << "nobody holds the second one";
  }
}

TEST(backpressure, lasts_until_every_mailbox_that_the_handler_filled_has_space) {
  const budget group{50'000};
  pumped_crowd first;
  pumped_crowd second;
  pumped_crowd s;
  const auto one = spawn_store(first, 2, group);
  const auto other = spawn_store(second, 2, group);
  const auto suspended = [&] {
    return first.system.statistics().senders_paused + second.system.statistics().senders_paused;
  };
  for (const bool first_is_first : {true, false}) {
    const auto from = s.system.spawn<last_words>({.where = bound_to(s.pump)}, one, other);
    from.send(load{5, 0});
    s.play();
    EXPECT_EQ(suspended(), 1u);
    (first_is_first ? first : second).play();
    EXPECT_EQ(suspended(), 1u) << "the other one is full";
    (first_is_first ? second : first).play();
    EXPECT_EQ(suspended(), 0u);
    s.play();
  }
}

TEST(overflow_policy, that_fails_the_receiver_ends_one_that_is_suspended) {
  const budget group{50'000};
  pumped_crowd apart;
  pumped_crowd s;
  const auto full = spawn_store(apart, 2, group);
  const auto fragile = s.system.spawn<last_words>(s.here(2, overflow::fail_receiver), full, full);
  fragile.send(load{5, 0});
  s.play();
  ASSERT_EQ(apart.system.statistics().senders_paused, 1u);
  for (int i = 0; i < 5; ++i) (void)fragile.send(load{0, 0});
  s.play();
  EXPECT_EQ(apart.system.statistics().senders_paused, 0u);
  EXPECT_EQ(s.system.statistics().actors_alive, 0u) << "what it waits for has no room yet";
  apart.play();
}

}  // namespace
}  // namespace troupe::test
