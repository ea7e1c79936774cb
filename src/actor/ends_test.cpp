// SPDX-License-Identifier: Apache-2.0
// Ends run as turns: however actors hang on each other, nothing recurses.
#include <gtest/gtest.h>

#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

constexpr int length = sanitized ? 100'000 : 1'000'000;

struct links {};

class link : public actor {
 public:
  explicit link(ref<link> next) : next_(std::move(next)) {}
  void on(ref<link>) {}

 private:
  ref<link> next_;
  counted<links> alive_;
};
int alive() { return counted<links>::alive(); }

ref<link> chain(system& s, const placement where) {
  ref<link> first;
  for (int i = 0; i < length; ++i) {
    first = s.spawn<link>(spawn_options{.where = where}, std::move(first));
  }
  return first;
}

TEST(ends, a_chain_of_a_million_actors_that_each_hold_the_next_ends_without_recursion) {
  system s{{.workers = 2}};
  auto first = chain(s, pool);
  EXPECT_EQ(alive(), length);
  first = {};
  EXPECT_TRUE(eventually([&] { return s.statistics().actors_alive == 0; }));
  EXPECT_EQ(alive(), 0);
}

TEST(ends, a_chain_on_a_pump_ends_without_recursion) {
  stage s;
  auto first = chain(s.system, bound_to(s.pump));
  first = {};
  s.pump.run_until_stopped();
  EXPECT_EQ(alive(), 0);
}

TEST(ends, a_chain_that_is_shut_down_ends_whole) {
  system s{{.workers = 2}};
  const auto first = chain(s, pool);
  EXPECT_TRUE(s.shutdown(patience).complete());
  EXPECT_EQ(alive(), 0);
}

TEST(ends, a_chain_of_messages_that_each_hold_the_next_receiver_ends_without_recursion) {
  stage s;
  // Each is kept only by the message that the next one never handles.
  ref<link> last = s.spawn<link>(ref<link>{});
  for (int i = 1; i < length / 10; ++i) {
    auto next = s.spawn<link>(ref<link>{});
    next.send(std::move(last));
    last = std::move(next);
  }
  last.stop_now();
  last = {};
  s.pump.run_until_stopped();
  EXPECT_EQ(alive(), 0);
}

TEST(ends, a_cycle_ends_when_one_of_it_is_stopped) {
  class member : public actor {
   public:
    void on(const ref<member>& next) { next_ = next; }

   private:
    ref<member> next_;
    counted<links> alive_;
  };
  stage s;
  std::vector<ref<member>> ring;
  for (int i = 0; i < 1'000; ++i) ring.push_back(s.spawn<member>());
  for (std::size_t i = 0; i < ring.size(); ++i) ring[i].send(ring[(i + 1) % ring.size()]);
  const weak_ref<member> one = ring[500];
  ring.clear();
  s.play();
  EXPECT_EQ(alive(), 1'000) << "nobody can reach them, but they are not found";
  one.lock().stop();
  s.play();
  EXPECT_EQ(alive(), 0);
}

TEST(ends, a_full_mailbox_is_discarded_whole) {
  stage s;
  const auto a = s.spawn<link>({.max_messages = no_limit, .max_bytes = no_limit}, ref<link>{});
  for (int i = 0; i < length / 10; ++i) a.send(ref<link>{});
  a.stop_now();
  s.play();
  EXPECT_EQ(s.system.statistics().dead_letters, std::uint64_t{length / 10});
}

}  // namespace
}  // namespace troupe::test
