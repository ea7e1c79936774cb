// SPDX-License-Identifier: Apache-2.0
// Searches for wait cycles that take more than one slice. The tests make the slices, and do
// something between two of them.
#include "wait_search.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/detail/actor/actor_type.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/actor/incarnations.hpp>
#include <troupe/troupe.hpp>

#include "overload_test_support.hpp"
#include "pauses_walk.hpp"

namespace troupe::test {

struct flood {};
struct nothing {};
struct ask_next {};

/// Sends two items to the next one when it is told to: more than its mailbox holds.
class ring_link : public actor {
 public:
  explicit ring_link(int& handled) : handled_(handled) {}
  void on(const ref<ring_link>& next) { next_ = next; }
  void on(item) { ++handled_; }
  void on(flood) { send_items(next_, 2); }
  exclusive_task<> on(explode) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(co_await next_.async_send(item{i}), delivery::accepted);
    }
  }
  int on(nothing) { return 0; }
  exclusive_task<> on(ask_next) { EXPECT_TRUE(co_await next_.ask<nothing>(no_timeout)); }

 private:
  ref<ring_link> next_;
  int& handled_;
};

namespace {

using detail::pauses;
using detail::waits_of_all;

/// Makes the slices of the searches small, and makes them only when a test says so.
class by_hand {
 public:
  explicit by_hand(std::uint32_t slice_cost) {
    waits_of_all& all = waits_of_all::here();
    const std::lock_guard lock(all.guard);
    cost_before_ = std::exchange(all.slice_cost, slice_cost);
    all.parked.keep_parked(true);
    all.looked_at_most = all.looked_at_in_all = 0;
  }
  by_hand(const by_hand&) = delete;
  by_hand& operator=(const by_hand&) = delete;
  ~by_hand() {
    while (slice()) {
    }
    waits_of_all& all = waits_of_all::here();
    const std::lock_guard lock(all.guard);
    all.slice_cost = cost_before_;
    all.parked.keep_parked(false);
  }

  /// False: no search is left.
  bool slice() { return pauses::go_on_searching(search_); }
  /// Returns the number of slices.
  std::size_t finish() {
    std::size_t slices = 0;
    while (slice()) ++slices;
    return slices;
  }
  [[nodiscard]] bool is_searching() const { return search_.number != 0; }
  [[nodiscard]] static std::uint64_t looked_at_most() {
    waits_of_all& all = waits_of_all::here();
    const std::lock_guard lock(all.guard);
    return std::exchange(all.looked_at_most, 0);
  }
  [[nodiscard]] static std::uint64_t looked_at_in_all() {
    waits_of_all& all = waits_of_all::here();
    const std::lock_guard lock(all.guard);
    return std::exchange(all.looked_at_in_all, 0);
  }

 private:
  std::uint32_t cost_before_ = 0;
  pauses::search_in_progress search_;
};

/// Actors of which each waits for room in the mailbox of the next one. Nothing else is going on.
struct ring : pumped_crowd {
  explicit ring(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      links.push_back(system.spawn<ring_link>(here(1), handled));
    connect();
  }
  ~ring() {
    for (const auto& each : links) (void)each.send(ref<ring_link>{});
    play();
  }
  void connect() {
    for (std::size_t i = 0; i < links.size(); ++i) {
      (void)links[i].send(links[(i + 1) % links.size()]);
    }
    play();
  }
  /// The last one completes the cycle.
  void suspend_all() {
    for (const auto& each : links) (void)each.send(flood{});
    play();
  }
  [[nodiscard]] std::uint64_t suspended() const { return system.statistics().senders_paused; }
  void expect_all_handled() {
    play();
    EXPECT_EQ(suspended(), 0u);
    EXPECT_EQ(handled, static_cast<int>(2 * links.size()));
    EXPECT_EQ(system.statistics().overdraft_bytes, 0u);
    EXPECT_EQ(system.statistics().messages_refused, 0u);
  }

  int handled = 0;
  std::vector<ref<ring_link>> links;
};

constexpr std::uint32_t default_slice_cost = 4'096;
constexpr std::uint32_t step_cost = 8;  // where a search follows requests too, or continues

TEST(wait_search, of_a_huge_ring_runs_in_slices_of_a_bounded_number_of_steps) {
  constexpr std::size_t size = sanitized ? 10'000 : 100'000;
  by_hand search(default_slice_cost);
  ring its(size);
  its.suspend_all();
  EXPECT_EQ(its.suspended(), size) << "nobody is told before the search is over";
  EXPECT_LE(search.looked_at_most(), default_slice_cost) << "of a chain without branches";
  (void)search.looked_at_in_all();
  const std::size_t slices = search.finish();
  const std::uint64_t most = search.looked_at_most();
  EXPECT_LE(most, default_slice_cost / step_cost);
  EXPECT_GE(search.looked_at_in_all(), 2 * size - 1) << "the path is looked at again";
  EXPECT_GE(slices * most, 2 * size - 1);
  EXPECT_EQ(its.full.counts().wait_cycles, 1u);
  EXPECT_EQ(its.suspended(), size - 1);
  its.expect_all_handled();
}

// The search for each of them would follow the chain of all before it.
TEST(wait_search, of_a_ring_that_is_closed_from_its_end_follows_it_once) {
  constexpr std::size_t size = sanitized ? 2'000 : 10'000;
  constexpr std::uint32_t slice_cost = 512;
  by_hand search(slice_cost);
  ring its(size);
  for (std::size_t i = size; i-- != 0;) (void)its.links[i].send(flood{});
  its.play();
  EXPECT_EQ(its.suspended(), size);
  (void)search.looked_at_in_all();
  (void)search.finish();
  EXPECT_LE(search.looked_at_in_all(), 4 * size);
  EXPECT_EQ(its.full.counts().wait_cycles, 1u);
  its.expect_all_handled();
}

TEST(wait_search, of_a_small_ring_finishes_when_the_last_actor_would_wait) {
  by_hand search(default_slice_cost);
  for (const std::size_t size : {std::size_t{2}, std::size_t{50}, std::size_t{1'000}}) {
    ring its(size);
    its.suspend_all();
    EXPECT_EQ(its.full.counts().wait_cycles, 1u);
    EXPECT_FALSE(search.slice()) << "none is parked";
    its.expect_all_handled();
  }
}

// The steps of a search for a ring of this size take slices 1 … slices_most.
constexpr std::size_t in_slices = 200;
constexpr std::uint32_t small_slice_cost = 64;

std::size_t slices_most() {
  by_hand search(small_slice_cost);
  ring its(in_slices);
  its.suspend_all();
  return search.finish();
}

// Calls happen(ring) after each number of slices, each time for another ring. `ends_the_search`:
// whatever it has seen. Otherwise, it decides by what was there when it began to look again.
template <class Happen>
void between_any_two_slices(bool ends_the_search, Happen&& happen) {
  const std::size_t slices = slices_most();
  ASSERT_GE(slices, 2 * in_slices * step_cost / small_slice_cost);
  for (std::size_t after = 0; after <= slices; ++after) {
    by_hand search(small_slice_cost);
    ring its(in_slices);
    its.suspend_all();
    for (std::size_t i = 0; i < after; ++i) EXPECT_TRUE(search.slice());
    const bool was_decided = its.full.counts().wait_cycles != 0;
    happen(its);
    (void)search.finish();
    its.play();
    (void)search.finish();
    its.play();
    EXPECT_EQ(its.suspended(), 0u) << "after " << after << " slices";
    const std::uint64_t cycles = its.full.counts().wait_cycles;
    if (was_decided) {
      EXPECT_EQ(cycles, 1u);
    } else if (ends_the_search || after < slices / 2) {
      EXPECT_EQ(cycles, 0u) << "there was no cycle any more: after " << after << " slices";
    } else {
      EXPECT_LE(cycles, 1u);
    }
    EXPECT_EQ(its.system.statistics().overdraft_bytes, 0u);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(wait_search, finds_no_cycle_if_a_member_ends_between_two_slices) {
  for (const std::size_t member : {std::size_t{0}, in_slices / 2, in_slices - 2}) {
    between_any_two_slices(true, [&](ring& its) {
      its.links[member].stop_now();
      its.play();
    });
  }
}

TEST(wait_search, finishes_if_the_waiting_actor_terminates_between_two_slices) {
  between_any_two_slices(true, [](ring& its) {
    its.links.back().stop_now();
    its.play();
  });
}

// It is released without a play: its turn comes later, and the others still wait.
TEST(wait_search, finds_no_cycle_if_a_member_is_released_between_two_slices) {
  between_any_two_slices(false, [](ring& its) { its.links[in_slices / 3].stop_now(); });
}

// A link that comes back, with the same mailbox, when it is ended.
class another_link final : public detail::incarnations {
 public:
  explicit another_link(int& handled) : handled_(handled) {}
  void construct(void* place) override { ::new (place) ring_link(handled_); }
  void started() noexcept override {}
  bool comes_back(exit_reason why) noexcept override { return why != exit_reason::unreachable; }
  void ended(exit_reason, std::string_view) noexcept override {}
  bool forgets_mailbox() const noexcept override { return false; }

 private:
  int& handled_;
};

TEST(wait_search, finds_no_cycle_if_a_member_restarts_between_two_slices) {
  const std::size_t slices = slices_most();
  for (std::size_t after = 0; after < slices; after += 7) {
    by_hand search(small_slice_cost);
    ring its(in_slices);
    auto& member = its.links[in_slices / 2];
    member = detail::ref_access::adopt<ring_link>(
        &make_between(its.system, detail::actor_type_of<ring_link>, its.here(1),
                      std::make_unique<another_link>(its.handled)));
    EXPECT_TRUE(begin_incarnation(detail::ref_access::block(member)));
    its.play();
    its.connect();
    its.suspend_all();
    for (std::size_t i = 0; i < after; ++i) EXPECT_TRUE(search.slice());
    detail::ref_access::block(member).end_object();
    its.play();
    EXPECT_TRUE(begin_incarnation(detail::ref_access::block(member)));
    its.play();
    (void)search.finish();
    EXPECT_EQ(its.full.counts().wait_cycles, 0u);
    its.expect_all_handled();
    detail::ref_access::block(member).ends_for_good();
    member.stop_now();
    its.play();
  }
}

// The last link waits for an actor of another system, which has room between two slices.
TEST(wait_search, finds_no_cycle_if_a_member_gets_space_between_two_slices) {
  std::size_t slices = 1;
  for (std::size_t after = 0; after < slices; after += 7) {
    by_hand search(small_slice_cost);
    pumped_crowd other;
    int elsewhere = 0;
    const auto busy = other.system.spawn<ring_link>(other.here(1), elsewhere);
    ring its(in_slices);
    (void)its.links.back().send(busy);
    its.play();
    (void)busy.send(item{0});
    for (std::size_t i = in_slices; i-- != 0;) {
      (void)search.finish();
      (void)its.links[i].send(flood{});
      its.play();
    }
    EXPECT_EQ(its.suspended() + other.system.statistics().senders_paused, in_slices);
    for (std::size_t i = 0; i < after; ++i) EXPECT_TRUE(search.slice());
    other.play();
    its.play();
    slices = after + search.finish() + (after == 0 ? in_slices * step_cost / small_slice_cost : 0);
    its.play();
    EXPECT_EQ(its.full.counts().wait_cycles, 0u);
    EXPECT_EQ(its.suspended() + other.system.statistics().senders_paused, 0u);
    EXPECT_EQ(its.handled + elsewhere, static_cast<int>(2 * in_slices + 1));
  }
}

TEST(wait_search, lets_the_message_of_an_exclusive_handler_in_if_its_wait_completes_a_ring) {
  by_hand search(small_slice_cost);
  ring its(in_slices);
  for (const auto& each : its.links) (void)each.send(explode{});
  its.play();
  EXPECT_LT(its.handled, static_cast<int>(2 * in_slices));
  std::size_t slices = 0;
  do {
    slices += search.finish();
    its.play();
  } while (search.slice());
  EXPECT_GT(slices, in_slices * step_cost / small_slice_cost);
  EXPECT_LE(search.looked_at_most(), small_slice_cost / step_cost);
  EXPECT_EQ(its.system.statistics().handlers_waiting, 0u);
  EXPECT_GT(its.full.counts().wait_cycles, 0u);
  its.expect_all_handled();
}

// The request comes last. Its own thread makes the slices.
TEST(wait_search, resumes_a_suspended_actor_if_an_exclusive_request_completes_a_ring) {
  by_hand search(small_slice_cost);
  int elsewhere = 0;
  pumped_crowd other;
  const auto asks = other.system.spawn<ring_link>(other.here(1), elsewhere);
  {
    ring its(in_slices);
    (void)asks.send(its.links.front());
    other.play();
    (void)its.links.back().send(asks);
    its.play();
    (void)asks.send(ask_next{});
    its.suspend_all();
    (void)search.finish();
    ASSERT_EQ(its.full.counts().wait_cycles, 0u);
    ASSERT_EQ(its.suspended() + other.system.statistics().senders_paused, in_slices);
    (void)search.looked_at_most();
    (void)search.looked_at_in_all();
    other.play();
    EXPECT_LE(search.looked_at_most(), small_slice_cost / step_cost);
    EXPECT_GE(search.looked_at_in_all(), in_slices);
    EXPECT_EQ(its.full.counts().wait_cycles + other.full.counts().wait_cycles, 1u);
    EXPECT_TRUE(eventually([&] {
      its.play();
      other.play();
      (void)search.finish();
      return its.handled + elsewhere == static_cast<int>(2 * in_slices);
    }));
    EXPECT_EQ(its.suspended() + other.system.statistics().senders_paused, 0u);
    (void)asks.send(ref<ring_link>{});
    other.play();
  }
}

TEST(wait_search, continues_by_itself_on_its_own_thread) {
  for (int round = 0; round < 3; ++round) {
    ring its(default_slice_cost * 2);
    its.suspend_all();
    EXPECT_TRUE(eventually([&] {
      its.play();
      return its.handled == static_cast<int>(2 * its.links.size());
    }));
    EXPECT_EQ(its.full.counts().wait_cycles, 1u);
    its.expect_all_handled();
  }
}

}  // namespace
}  // namespace troupe::test
