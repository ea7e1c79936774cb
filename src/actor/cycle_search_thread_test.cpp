// SPDX-License-Identifier: Apache-2.0
// Activity while the system searches for cycles by itself.
#include <chrono>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/references.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

struct listing_state {
  std::binary_semaphore begun{0};
  std::binary_semaphore go_on{0};
  atomic<bool> is_first{true};
  atomic<bool> was_in_time{false};
  std::binary_semaphore over{0};
};

struct tick {};

/// Its first listing takes until it is released, or ten seconds.
class slow_to_list : public actor {
 public:
  explicit slow_to_list(std::shared_ptr<listing_state> state) : state_(std::move(state)) {}
  void references(reference_visitor&) const {
    if (!state_->is_first.exchange(false)) return;
    state_->begun.release();
    state_->was_in_time.store(state_->go_on.try_acquire_for(10s));
    state_->over.release();
  }
  void on(tick) {}

 private:
  std::shared_ptr<listing_state> state_;
};

/// Lists its references, and reports when it handles something.
class quick_to_list : public actor {
 public:
  explicit quick_to_list(std::binary_semaphore& handled) : handled_(handled) {}
  void references(reference_visitor&) const {}
  void on(tick) { handled_.release(); }

 private:
  std::binary_semaphore& handled_;
};

TEST(cycle_search_thread, makes_no_timer_late) {
  auto state = std::make_shared<listing_state>();
  troupe::system system({.workers = 2, .cycle_search = 1ms});
  const auto slow = system.spawn<slow_to_list>(state);
  state->begun.acquire();
  const auto other = system.spawn<quick_to_list>(std::ref(state->go_on));
  (void)other.send_after(1ms, tick{});
  state->over.acquire();
  EXPECT_TRUE(state->was_in_time.load());
}

TEST(cycle_search_thread, delays_no_actor_while_another_one_lists_its_references) {
  std::binary_semaphore handled{0};
  auto state = std::make_shared<listing_state>();
  troupe::system system({.workers = 2, .cycle_search = 1ms});
  // Actors on both sides of it, wherever the search begins.
  std::vector<ref<quick_to_list>> others;
  for (int i = 0; i < 4; ++i) others.push_back(system.spawn<quick_to_list>(std::ref(handled)));
  const auto slow = system.spawn<slow_to_list>(state);
  for (int i = 0; i < 4; ++i) others.push_back(system.spawn<quick_to_list>(std::ref(handled)));
  state->begun.acquire();
  for (const auto& each : others) {
    (void)each.send(tick{});
    EXPECT_TRUE(handled.try_acquire_for(10s));
  }
  state->go_on.release();
  state->over.acquire();
  EXPECT_TRUE(state->was_in_time.load());
}

class partner : public actor {
 public:
  void references(reference_visitor& visit) const { visit(other_); }
  void on(ref<partner> other) { other_ = std::move(other); }

 private:
  ref<partner> other_;
};

TEST(cycle_search_thread, starts_by_itself_on_its_own_thread) {
  troupe::system system({.workers = 1, .cycle_search = 1ms});
  {
    const auto one = system.spawn<partner>();
    const auto two = system.spawn<partner>();
    (void)one.send(two);
    (void)two.send(one);
  }
  const time_point until = clock::now() + 30s;
  while (system.statistics().actors_collected != 2 && clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(system.statistics().actors_collected, 2u);
}

}  // namespace
}  // namespace troupe::test
