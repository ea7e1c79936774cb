// SPDX-License-Identifier: Apache-2.0
// Nothing is lost, and the order of each sender is kept, when actors flood each other in cycles:
// also for the messages that a wait cycle lets in beyond the limit.
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/troupe.hpp>

#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

constexpr std::size_t laps = 3;
constexpr std::size_t origins = 4;

struct token {
  std::uint32_t link;         // the sender of this message: a stage or an origin
  std::uint32_t link_number;  // counts what the link has sent to this receiver
  std::uint32_t origin;       // where it came from first
  std::uint32_t number;       // counts what the origin has sent
  std::uint32_t hops;         // that are left
};

/// The counts of one stage, which it alone writes.
struct seen_by_stage {
  std::uint64_t handled = 0;
  std::uint64_t out_of_order_of_link = 0;
  std::uint64_t out_of_order_of_origin = 0;
};

/// Passes each message on to the next stage, and checks the order of those that it gets: of each
/// sender, and of each origin in each lap.
class stage : public actor {
 public:
  stage(std::uint32_t number, std::uint32_t stages, seen_by_stage& seen)
      : number_(number),
        seen_(seen),
        next_of_link_(stages + origins),
        next_of_origin_(origins * (laps * stages + 1)) {}

  void on(const ref<stage>& next) { next_ = next; }
  void on(const token& t) {
    ++seen_.handled;
    if (next_of_link_[t.link]++ != t.link_number) ++seen_.out_of_order_of_link;
    if (next_of_origin_[t.hops * origins + t.origin]++ != t.number) ++seen_.out_of_order_of_origin;
    if (t.hops == 0) return;
    EXPECT_NE(next_.send(token{number_, sent_++, t.origin, t.number, t.hops - 1}),
              delivery::refused);
  }

 private:
  const std::uint32_t number_;
  seen_by_stage& seen_;
  std::vector<std::uint32_t> next_of_link_;
  std::vector<std::uint32_t> next_of_origin_;
  ref<stage> next_;
  std::uint32_t sent_ = 0;
};

/// A cycle of stages. Each origin sends to one stage.
struct cycle {
  cycle(troupe::system& in, std::size_t stages, const spawn_options& options) : seen(stages) {
    for (std::uint32_t i = 0; i < stages; ++i) {
      all.push_back(in.spawn<stage>(options, i, static_cast<std::uint32_t>(stages), seen[i]));
    }
  }
  void connect() {
    for (std::size_t i = 0; i < all.size(); ++i) (void)all[i].send(all[(i + 1) % all.size()]);
  }
  void disconnect() {
    for (const auto& each : all) (void)each.send(ref<stage>{});
  }
  void send_all(std::uint32_t origin, std::uint32_t messages) {
    const auto stages = static_cast<std::uint32_t>(all.size());
    for (std::uint32_t i = 0; i < messages; ++i) {
      EXPECT_NE(all[origin % stages].send(token{stages + origin, i, origin, i,
                                                static_cast<std::uint32_t>(laps) * stages}),
                delivery::refused);
    }
  }
  [[nodiscard]] std::uint64_t expected(std::uint32_t messages) const {
    return std::uint64_t{origins} * messages * (laps * all.size() + 1);
  }
  void check(std::uint32_t messages) const {
    seen_by_stage sum;
    for (const seen_by_stage& each : seen) {
      sum.handled += each.handled;
      sum.out_of_order_of_link += each.out_of_order_of_link;
      sum.out_of_order_of_origin += each.out_of_order_of_origin;
    }
    EXPECT_EQ(sum.handled, expected(messages));
    EXPECT_EQ(sum.out_of_order_of_link, 0u);
    EXPECT_EQ(sum.out_of_order_of_origin, 0u);
  }

  std::vector<seen_by_stage> seen;
  std::vector<ref<stage>> all;
};

constexpr std::size_t default_limit = 65'536;

class order_in_a_cycle : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  const std::size_t stages = std::get<0>(GetParam());
  const std::size_t limit = std::get<1>(GetParam());
};

std::string name_of(const ::testing::TestParamInfo<std::tuple<std::size_t, std::size_t>>& of) {
  return std::to_string(std::get<0>(of.param)) + "_stages_limit_" +
         std::to_string(std::get<1>(of.param));
}

INSTANTIATE_TEST_SUITE_P(overload, order_in_a_cycle,
                         ::testing::Combine(::testing::Values<std::size_t>(1, 2, 3, 10, 50),
                                            ::testing::Values<std::size_t>(1, 2, 16, 1'000,
                                                                           default_limit)),
                         name_of);

// All messages are there before the first is handled, so that wait cycles are certain.
TEST_P(order_in_a_cycle, is_kept_on_one_thread_for_each_sender) {
  pumped_crowd s;
  // More than there are places in the mailboxes, if that is few enough.
  const std::size_t places = limit * stages;
  const auto messages = static_cast<std::uint32_t>(places < 2'000 ? places / origins + 20 : 500);
  cycle its(s.system, stages, s.here(limit));
  its.connect();
  s.play();
  for (std::uint32_t origin = 0; origin < origins; ++origin) its.send_all(origin, messages);
  s.play();
  its.check(messages);
  EXPECT_EQ(s.system.statistics().senders_paused, 0u);
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
  if (stages > 1 && limit <= 16) {
    EXPECT_GT(s.full.counts().wait_cycles, 0u);
  }
  its.disconnect();
  s.play();
}

TEST_P(order_in_a_cycle, is_kept_in_a_pool_for_each_sender) {
  const std::uint32_t messages = sanitized ? 50 : 300;
  crowd s;
  cycle its(s.system, stages, spawn_options{.max_messages = limit});
  its.connect();
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t origin = 0; origin < origins; ++origin) {
      threads.emplace_back([&its, origin] { its.send_all(origin, messages); });
    }
  }
  EXPECT_TRUE(eventually([&] {
    const statistics now = s.system.statistics();
    return now.messages_handled >= its.expected(messages) + stages && now.messages_waiting == 0;
  }));
  its.disconnect();
  for (auto& each : its.all) each.stop();
  for (auto& each : its.all) EXPECT_EQ(each.join_for(patience), exit_reason::stopped);
  its.check(messages);
  EXPECT_EQ(s.full.counts().refused, 0u);
}

}  // namespace
}  // namespace troupe::test
