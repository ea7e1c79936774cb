// SPDX-License-Identifier: Apache-2.0
// Terminations run as turns: however actors depend on each other, nothing recurses.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

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

TEST(termination, a_chain_of_a_million_actors_that_each_hold_the_next_ends_without_recursion) {
  system s{{.workers = 2}};
  auto first = chain(s, pool);
  EXPECT_EQ(alive(), length);
  first = {};
  EXPECT_TRUE(eventually([&] { return s.statistics().actors_alive == 0; }));
  EXPECT_EQ(alive(), 0);
}

TEST(termination, a_chain_on_a_pump_ends_without_recursion) {
  stage s;
  auto first = chain(s.system, bound_to(s.pump));
  first = {};
  s.pump.run_until_stopped();
  EXPECT_EQ(alive(), 0);
}

TEST(termination, a_chain_that_is_shut_down_ends_whole) {
  system s{{.workers = 2}};
  const auto first = chain(s, pool);
  EXPECT_TRUE(s.shutdown(patience).complete());
  EXPECT_EQ(alive(), 0);
}

TEST(termination, a_chain_of_messages_that_each_hold_the_next_receiver_ends_without_recursion) {
  stage s;
  // Each is kept alive only by the message that the next one never handles.
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

TEST(termination, a_cycle_ends_when_one_of_it_is_stopped) {
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

// A message whose destruction sends to the actor to which it had been sent.
class speaks_up : public actor {
 public:
  struct begin {};
  struct fail {};
  struct last_word {
    struct speaker {
      self_ref<speaks_up> to;
      delivery* became;
      ~speaker() { *became = to.send(fail{}); }
    };
    std::unique_ptr<speaker> at_the_end;
  };

  explicit speaks_up(delivery& became) : became_(became) {}
  void on(begin) {
    self(this).send(fail{});
    self(this).send(last_word{
        std::unique_ptr<last_word::speaker>(new last_word::speaker{self(this), &became_})});
  }
  void on(fail) { throw std::runtime_error("as asked"); }
  void on(const last_word&) {}

 private:
  delivery& became_;
};

TEST(termination, an_unhandled_message_may_hold_a_reference_to_its_own_receiver) {
  stage s;
  delivery became = delivery::accepted;
  s.spawn<speaks_up>(became).send(speaks_up::begin{});
  s.play();
  EXPECT_EQ(became, delivery::refused);
  EXPECT_EQ(s.system.statistics().actors_alive, 0u);
  EXPECT_EQ(s.system.statistics().dead_letters, 2u);
  const auto one = s.spawn<link>(ref<link>{});
  const auto other = s.spawn<link>(ref<link>{});
  EXPECT_NE(one, other) << "the slot went back once";
}

TEST(termination, is_incomplete_while_the_dead_letter_hook_blocks) {
  class ends_slowly : public actor {
   public:
    ends_slowly(event& stopping, event& go_on) : stopping_(stopping), go_on_(go_on) {}
    void on(int) {}
    void on_stop() {
      stopping_.set();
      (void)go_on_.wait();
    }

   private:
    event& stopping_;
    event& go_on_;
  };
  event stopping;
  event go_on;
  event discarding;
  event discard;
  system s{{.workers = 1, .on_dead_letter = [&](const dead_letter&) {
              discarding.set();
              (void)discard.wait();
            }}};
  auto a = s.spawn<ends_slowly>(stopping, go_on);
  a.stop();
  EXPECT_TRUE(stopping.wait());
  a.send(1);
  a = {};  // not the last reference: the turn has one
  go_on.set();
  EXPECT_TRUE(discarding.wait());
  EXPECT_FALSE(s.shutdown(std::chrono::milliseconds(1)).complete());
  discard.set();
  EXPECT_TRUE(s.shutdown(patience).complete());
}

TEST(termination, a_full_mailbox_is_discarded_whole) {
  stage s;
  const auto a = s.spawn<link>({.max_messages = no_limit, .max_bytes = no_limit}, ref<link>{});
  for (int i = 0; i < length / 10; ++i) a.send(ref<link>{});
  a.stop_now();
  s.play();
  EXPECT_EQ(s.system.statistics().dead_letters, std::uint64_t{length / 10});
}

}  // namespace
}  // namespace troupe::test
