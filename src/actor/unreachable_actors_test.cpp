// SPDX-License-Identifier: Apache-2.0
// The decision about many actors that are referenced only by each other: its slices, and what
// other threads do between them.
#include "unreachable_actors.hpp"

#include <cstddef>
#include <functional>
#include <semaphore>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <troupe/detail/sync/thread.hpp>

#include "cycles_test_support.hpp"
#include "runtime.hpp"
#include "slices.hpp"

namespace troupe::test {
namespace {

using detail::frozen_actors;
using detail::slices;

// Decides in slices of that many steps, and calls between(ended slices) after each. Returns the
// number of slices.
std::size_t decide(quiet& q, slices& pace, frozen_actors::outcome& found) {
  {
    frozen_actors those(detail::system_access::of(q.system), pace);
    those.freeze(frozen_actors::which::that_list);
    found = those.end_unreachable();
  }
  return pace.ended();
}

TEST(frozen_actors, of_a_huge_ring_are_decided_in_slices_of_a_bounded_number_of_steps) {
  constexpr std::size_t size = sanitized ? 10'000 : 100'000;
  constexpr std::size_t steps_most = 512;
  quiet q;
  q.spawn_ring(size).clear();
  q.play();
  slices pace(steps_most);
  frozen_actors::outcome found;
  const std::size_t ended = decide(q, pace, found);
  EXPECT_EQ(found.ended, size);
  EXPECT_FALSE(found.again);
  // A step of the list of an actor counts its references too.
  EXPECT_LE(pace.longest(), steps_most + 2);
  EXPECT_GE(ended, 4 * size / steps_most);
  q.play();
  EXPECT_EQ(q.alive(), 0u);
}

// Tries to reference one of the actors, on a thread, and waits for the result between two slices.
class visitor {
 public:
  explicit visitor(weak_ref<node> whom) : whom_(std::move(whom)) {}

  /// False if the result does not come while the search stands still, nor after its slices.
  void begin() {
    thread_ = jthread([this] {
      begun_.release();
      locked_ = whom_.lock();
      done_.release();
    });
    begun_.acquire();
  }
  [[nodiscard]] bool is_done_within(duration time) {
    is_done_ = is_done_ || done_.try_acquire_for(time);
    return is_done_;
  }
  [[nodiscard]] const ref<node>& locked() const { return locked_; }
  void release() { locked_ = {}; }

 private:
  const weak_ref<node> whom_;
  ref<node> locked_;
  std::binary_semaphore begun_{0};
  std::binary_semaphore done_{0};
  bool is_done_ = false;
  jthread thread_;
};

// After any number of slices, one of a ring is locked by its address. The thread gets its answer
// within a few slices, whatever is left to do; either all live or all end.
TEST(frozen_actors, let_a_thread_that_locks_one_of_them_continue_within_a_few_slices) {
  constexpr std::size_t size = 2'000;
  constexpr std::size_t steps_most = 64;
  std::size_t slices_in_all = 1;
  std::size_t lived = 0;
  std::size_t ended = 0;
  for (std::size_t after = 1; after <= slices_in_all; after += sanitized ? 40 : 10) {
    quiet q;
    auto ring = q.spawn_ring(size);
    visitor other{weak_ref<node>(ring[size / 2])};
    ring.clear();
    q.play();
    std::size_t now = 0;
    std::size_t answered_after = 0;
    slices pace(steps_most, [&] {
      ++now;
      if (now < after || answered_after != 0) return;
      if (now == after) other.begin();
      // It may have to be scheduled first, to say that it waits.
      if (other.is_done_within(now < after + 2 ? 20ms : duration(10s))) answered_after = now;
    });
    frozen_actors::outcome found;
    slices_in_all = decide(q, pace, found);
    if (now < after) break;
    ASSERT_TRUE(other.is_done_within(10s));
    if (answered_after != 0) {
      EXPECT_LE(answered_after, after + 3);
    }
    if (other.locked()) {
      ++lived;
      EXPECT_EQ(found.ended, 0u) << "all of a ring live";
      EXPECT_EQ(other.locked().send(act{}), delivery::accepted);
      q.play();
      EXPECT_EQ(q.alive(), size);
      other.release();
      q.play();
      EXPECT_EQ(q.collect(), size);
    } else {
      ++ended;
      EXPECT_EQ(found.ended, size) << "all of a ring end";
      q.play();
    }
    EXPECT_EQ(q.alive(), 0u);
    if (HasFailure()) return;
  }
  EXPECT_GT(lived, 0u);
  EXPECT_GT(ended, 0u);
}

TEST(frozen_actors, handle_messages_that_are_sent_to_them_between_two_slices) {
  constexpr std::size_t size = 500;
  std::size_t slices_in_all = 1;
  for (std::size_t after = 1; after <= slices_in_all; after += 5) {
    quiet q;
    auto ring = q.spawn_ring(size);
    const weak_ref<node> weak = ring[7];
    ring.clear();
    q.play();
    std::size_t now = 0;
    int handled = 0;
    int sent = 0;
    slices pace(64, [&] {
      if (++now != after) return;
      // Without waiting: the search is on this thread.
      const auto line = detail::address_access::line(weak.address());
      if (line->now().undecided()) return;
      if (const ref<node> one = weak.lock()) {
        ++sent;
        EXPECT_EQ(one.send(act{[&](node&) { ++handled; }}), delivery::accepted);
      }
    });
    frozen_actors::outcome found;
    slices_in_all = decide(q, pace, found);
    q.play();
    EXPECT_EQ(handled, sent);
    EXPECT_EQ(found.ended, sent == 0 ? size : 0u);
    (void)q.collect();
    EXPECT_EQ(q.alive(), 0u);
  }
}

}  // namespace
}  // namespace troupe::test
