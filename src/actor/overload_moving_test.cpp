// SPDX-License-Identifier: Apache-2.0
// No deadlock: whichever actors flood each other, it ends, and every message is accounted for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

constexpr int sends_most = sanitized ? 5'000 : 30'000;

struct parcel {
  int number;
};

/// Numbers all messages that are sent, up to a maximum, and records what became of each.
///
/// Invariant: attempted_ >= handled_ + not_taken_; equal only when nothing moves any more, because
///            a handler counts its message after it has sent everything that it sends.
class ledger {
 public:
  explicit ledger(int most = sends_most) : handled_times_(static_cast<std::size_t>(most)) {}

  template <class To>
  void send(const To& to) {
    const int number = attempted_.fetch_add(1);
    if (number >= static_cast<int>(handled_times_.size())) {
      --attempted_;
      return;
    }
    const delivery became = to.send(parcel{number});
    if (became == delivery::refused || became == delivery::dropped) ++not_taken_;
  }
  void has_begun(parcel p) {
    EXPECT_EQ(++handled_times_[static_cast<std::size_t>(p.number)], 1) << "handled twice";
  }
  void has_ended() { ++handled_; }
  [[nodiscard]] bool is_spent() const {
    return attempted_ >= static_cast<int>(handled_times_.size());
  }
  [[nodiscard]] bool is_quiet() const {
    const int known = handled_ + not_taken_;
    return known == attempted_;
  }
  [[nodiscard]] int attempted() const { return attempted_; }
  [[nodiscard]] int handled() const { return handled_; }
  [[nodiscard]] int not_taken() const { return not_taken_; }

  /// Call when all is quiet: returns the sums.
  void check(const crowd& s) const {
    const overload_counts told = s.full.counts();
    const statistics now = s.system.statistics();
    EXPECT_EQ(attempted(), handled() + not_taken());
    EXPECT_EQ(static_cast<std::uint64_t>(not_taken()), told.refused + told.dropped);
    EXPECT_EQ(now.messages_refused, told.refused);
    EXPECT_EQ(now.messages_dropped, told.dropped);
    EXPECT_EQ(now.pauses, told.paused);
    EXPECT_EQ(now.pauses_timed_out, told.pauses_timed_out);
    EXPECT_LE(told.pauses_timed_out, told.paused);
    EXPECT_EQ(now.dead_letters, 0u);
    EXPECT_EQ(now.message_bytes_waiting, 0u);
    EXPECT_EQ(now.messages_waiting, 0u);
    EXPECT_EQ(now.senders_paused, 0u);
  }

 private:
  std::vector<atomic<int>> handled_times_;
  atomic<int> attempted_{0};
  atomic<int> handled_{0};
  atomic<int> not_taken_{0};
};

class node;
struct next_to {
  ref<node> whom;
};
struct spin {};  // starts a flood

/// Sends `copies` of each message that it receives to each of its neighbors.
class node : public actor {
 public:
  node(ledger& all, int copies) : all_(all), copies_(copies) {}
  void on(const next_to& n) { next_.push_back(n.whom); }
  void on(spin) {
    for (int i = 0; i < 100; ++i) {
      for (const auto& each : next_) all_.send(each);
    }
  }
  void on(parcel p) {
    all_.has_begun(p);
    for (int i = 0; i < copies_; ++i) {
      for (const auto& each : next_) all_.send(each);
    }
    all_.has_ended();
  }

 private:
  ledger& all_;
  const int copies_;
  std::vector<ref<node>> next_;
};

struct shape {
  int nodes;
  int copies;
  std::size_t limit;
};

spawn_options limited(std::size_t most, placement where = pool) {
  return {.where = where, .max_messages = most};
}

// Pushes until the ledger is spent or the pushed messages have run dry, then waits for quiet.
template <class Push>
void keep_going(const ledger& all, Push&& push) {
  const time_point deadline = later(clock::now(), patience);
  while (!all.is_spent() && clock::now() < deadline) push();
  EXPECT_TRUE(all.is_spent()) << "it stands still";
  EXPECT_TRUE(eventually([&] { return all.is_quiet(); })) << "it stands still";
}

// Actors whose last turn has ended: messages handled in a turn are counted at its end.
void check_at_rest(crowd& s, const ledger& all) {
  EXPECT_TRUE(eventually([&] { return s.system.statistics().messages_waiting == 0; }));
  EXPECT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 0; }));
  EXPECT_TRUE(s.system.shutdown(patience).complete());
  all.check(s);
  EXPECT_EQ(all.not_taken(), 0) << "backpressure loses nothing";
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
}

class overload_without_deadlock : public ::testing::TestWithParam<shape> {
 protected:
  const shape is = GetParam();
  ledger all;
  crowd s;

  std::vector<ref<node>> spawn_all(placement where = pool, int most = 100) {
    std::vector<ref<node>> nodes;
    for (int i = 0; i < std::min(is.nodes, most); ++i)
      nodes.push_back(s.system.spawn<node>(limited(is.limit, where), all, is.copies));
    return nodes;
  }
  static void connect(const ref<node>& from, const ref<node>& to) {
    while (from.send(next_to{to}) == delivery::refused) std::this_thread::yield();
  }
};

std::string name_of(const ::testing::TestParamInfo<shape>& chosen) {
  const shape of = chosen.param;
  return std::to_string(of.nodes) + "_nodes_" + std::to_string(of.copies) + "_copies_limit_" +
         std::to_string(of.limit);
}

INSTANTIATE_TEST_SUITE_P(overload, overload_without_deadlock,
                         ::testing::Values(shape{1, 1, 1}, shape{1, 2, 4}, shape{2, 1, 1},
                                           shape{2, 2, 4}, shape{2, 3, 1}, shape{3, 1, 2},
                                           shape{3, 2, 1}, shape{7, 2, 8}, shape{20, 1, 1},
                                           shape{20, 3, 64}),
                         name_of);

// Of one node: it floods itself. Of two: they flood each other.
TEST_P(overload_without_deadlock, a_ring_in_which_each_sends_to_the_next) {
  const auto nodes = spawn_all();
  for (std::size_t i = 0; i < nodes.size(); ++i) connect(nodes[i], nodes[(i + 1) % nodes.size()]);
  std::size_t at = 0;
  keep_going(all, [&] { all.send(nodes[at++ % nodes.size()]); });
  check_at_rest(s, all);
}

TEST_P(overload_without_deadlock, a_ring_flooded_by_several_threads_and_its_own_members) {
  const auto nodes = spawn_all();
  for (std::size_t i = 0; i < nodes.size(); ++i) connect(nodes[i], nodes[(i + 1) % nodes.size()]);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        keep_going(all, [&] {
          nodes[t % nodes.size()].send(spin{});
          all.send(nodes[(t + 1) % nodes.size()]);
        });
      });
    }
  }
  EXPECT_TRUE(eventually([&] { return s.system.statistics().messages_waiting == 0; }));
  EXPECT_TRUE(s.system.shutdown(patience).complete());
  EXPECT_TRUE(all.is_quiet());
  EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
  EXPECT_EQ(s.full.counts().refused, 0u);
}

TEST_P(overload_without_deadlock, actors_that_all_send_to_each_other) {
  const auto nodes = spawn_all(pool, 7);
  for (const auto& from : nodes) {
    for (const auto& to : nodes) connect(from, to);
  }
  std::size_t at = 0;
  keep_going(all, [&] { all.send(nodes[at++ % nodes.size()]); });
  check_at_rest(s, all);
}

TEST_P(overload_without_deadlock, a_tree_whose_leaves_send_to_its_root) {
  const auto nodes = spawn_all();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    bool leaf = true;
    for (std::size_t child = 3 * i + 1; child <= 3 * i + 3 && child < nodes.size(); ++child) {
      connect(nodes[i], nodes[child]);
      leaf = false;
    }
    if (leaf) connect(nodes[i], nodes[0]);
  }
  keep_going(all, [&] { all.send(nodes[0]); });
  check_at_rest(s, all);
}

TEST_P(overload_without_deadlock, a_ring_whose_actors_have_their_own_threads) {
  const auto nodes = spawn_all(own_thread, 7);
  for (std::size_t i = 0; i < nodes.size(); ++i) connect(nodes[i], nodes[(i + 1) % nodes.size()]);
  std::size_t at = 0;
  keep_going(all, [&] { all.send(nodes[at++ % nodes.size()]); });
  check_at_rest(s, all);
}

TEST_P(overload_without_deadlock, a_ring_on_the_thread_that_floods_it) {
  pump p{s.system};
  const auto nodes = spawn_all(bound_to(p));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    connect(nodes[i], nodes[(i + 1) % nodes.size()]);
    p.run_until_idle();
  }
  std::size_t at = 0;
  const time_point deadline = later(clock::now(), patience);
  while (!all.is_spent() && clock::now() < deadline) {
    all.send(nodes[at++ % nodes.size()]);
    if (at % 10 == 0) p.drain();
  }
  p.run_until_idle();
  EXPECT_TRUE(all.is_spent());
  EXPECT_TRUE(all.is_quiet()) << "the pump is idle";
  check_at_rest(s, all);
}

TEST_P(overload_without_deadlock, a_ring_across_pool_threads_and_pump) {
  pump p{s.system};
  std::vector<ref<node>> nodes;
  for (int i = 0; i < is.nodes; ++i) {
    const placement where = i % 3 == 0 ? pool : i % 3 == 1 && i < 9 ? own_thread : bound_to(p);
    nodes.push_back(s.system.spawn<node>(limited(is.limit, where), all, is.copies));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    connect(nodes[i], nodes[(i + 1) % nodes.size()]);
    p.run_until_idle();
  }
  const time_point deadline = later(clock::now(), patience);
  std::size_t at = 0;
  while (!(all.is_spent() && all.is_quiet()) && clock::now() < deadline) {
    if (!all.is_spent()) all.send(nodes[at++ % nodes.size()]);
    p.drain();
  }
  EXPECT_TRUE(all.is_spent());
  EXPECT_TRUE(all.is_quiet()) << "it stands still";
  check_at_rest(s, all);
}

TEST(overload_moving, a_flood_to_actors_that_end_is_handled_refused_or_a_dead_letter) {
  constexpr int most = sanitized ? 4'000 : 20'000;
  ledger all(most);
  crowd s;
  atomic<int> next{0};
  class mortal : public actor {
   public:
    explicit mortal(ledger& all) : all_(all) {}
    void on(parcel p) {
      all_.has_begun(p);
      all_.has_ended();
      if (p.number % 97 == 0) throw p.number;
      if (p.number % 89 == 0) self(this).stop_now();
      if (p.number % 83 == 0) stop();
    }

   private:
    ledger& all_;
  };
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        auto to = s.system.spawn<mortal>(limited(4), all);
        while (!all.is_spent()) {
          all.send(to);
          if (++next % 50 == 0) to = s.system.spawn<mortal>(limited(4), all);
        }
      });
    }
  }
  EXPECT_TRUE(s.system.shutdown(patience).complete());
  const statistics now = s.system.statistics();
  // A message refused by a terminated actor is a dead letter; so is one that a terminated actor
  // left over.
  EXPECT_EQ(static_cast<std::uint64_t>(all.attempted()),
            static_cast<std::uint64_t>(all.handled()) + now.dead_letters + now.messages_refused);
  EXPECT_EQ(now.dead_letters, s.told.dead_letters().size());
  EXPECT_EQ(now.messages_refused, s.full.counts().refused);
  EXPECT_EQ(now.message_bytes_waiting, 0u);
  EXPECT_EQ(now.senders_paused, 0u);
}

}  // namespace
}  // namespace troupe::test
