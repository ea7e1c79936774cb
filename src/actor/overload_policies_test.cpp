// SPDX-License-Identifier: Apache-2.0
// Policies for messages for which there is no room, chosen by the spawner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>

#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto A = delivery::accepted;
constexpr auto R = delivery::refused;
constexpr auto D = delivery::dropped;

// Sends from a thread that would wait if it could.
template <class To>
std::vector<delivery> send_from_a_thread(const To& to, int count, int first = 0) {
  std::vector<delivery> became;
  std::thread([&] { became = send_items(to, count, first); }).join();
  return became;
}

TEST(overload_refuse, accepts_messages_up_to_the_limit_and_no_more) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(3, overflow::refuse), got);
  EXPECT_THAT(send_from_a_thread(full, 5), ElementsAre(A, A, A, R, R));
  EXPECT_EQ(s.full.counts(), (overload_counts{.refused = 2}));
  EXPECT_EQ(s.system.statistics().messages_refused, 2u);
  EXPECT_EQ(s.system.statistics().dead_letters, 0u);
  s.play();
  EXPECT_THAT(send_from_a_thread(full, 1, 5), ElementsAre(A));
  s.play();
  EXPECT_THAT(got, ElementsAre(0, 1, 2, 5));
}

TEST(overload_refuse, does_not_pause_an_actor) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(3, overflow::refuse), got);
  const auto sender = s.system.spawn<probe>(log);
  sender.send(call{[&](probe&) { EXPECT_THAT(send_items(full, 4), ElementsAre(A, A, A, R)); }});
  sender.send(note{"goes on"});
  EXPECT_TRUE(log.wait_for(1));
  EXPECT_EQ(s.system.statistics().pauses, 0u);
}

TEST(overload_drop_newest, drops_and_counts_messages_beyond_the_limit) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(3, overflow::drop_newest), got);
  EXPECT_THAT(send_from_a_thread(full, 5), ElementsAre(A, A, A, D, D));
  EXPECT_EQ(s.full.counts(), (overload_counts{.dropped = 2}));
  EXPECT_EQ(s.system.statistics().messages_dropped, 2u);
  s.play();
  EXPECT_THAT(got, ElementsAre(0, 1, 2));
}

TEST(overload_drop_oldest, keeps_exactly_the_newest_in_order) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(7, overflow::drop_oldest), got);
  EXPECT_THAT(send_from_a_thread(full, 1'000), Each(A));
  EXPECT_EQ(s.system.statistics().messages_waiting, 7u);
  EXPECT_EQ(s.full.counts(), (overload_counts{.dropped = 993}));
  EXPECT_EQ(s.system.statistics().messages_dropped, 993u);
  s.play();
  EXPECT_THAT(got, ElementsAreArray(numbers(993, 7)));
  send_from_a_thread(full, 9, 2'000);
  s.play();
  EXPECT_THAT(std::vector(got.begin() + 7, got.end()), ElementsAreArray(numbers(2'002, 7)));
  EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
}

TEST(overload_drop_oldest, keeps_the_newest_with_a_limit_of_one) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(1, overflow::drop_oldest), got);
  send_items(full, 10);
  s.play();
  EXPECT_THAT(got, ElementsAre(9));
}

TEST(overload_drop_oldest, handles_waiting_messages_before_a_later_stop) {
  journal log;
  pumped_crowd s;
  const auto full = s.system.spawn<probe>(s.here(2, overflow::drop_oldest), log);
  for (const char* each : {"1", "2", "3"}) full.send(note{each});
  full.stop();
  EXPECT_EQ(full.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("2", "3", "destroyed"));
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
  EXPECT_EQ(full.send(note{"too late"}), R);
  EXPECT_THAT(s.told.dead_letters(), SizeIs(1));
  EXPECT_EQ(s.full.counts(), (overload_counts{.dropped = 1}));
}

TEST(overload_drop_oldest, keeps_the_senders_orders_when_several_threads_send) {
  constexpr int threads = 3;
  constexpr int each = 5'000;
  std::vector<int> got;
  crowd s;
  const auto full = s.system.spawn<sink>(
      spawn_options{.max_messages = 100, .on_full = overflow::drop_oldest}, got);
  {
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] { EXPECT_THAT(send_items(full, each, t * each), Each(A)); });
    }
  }
  full.stop();
  full.join();
  EXPECT_EQ(got.size() + s.full.counts().dropped, std::size_t{threads * each});
  for (int t = 0; t < threads; ++t) {
    std::vector<int> of_one;
    for (const int n : got) {
      if (n / each == t) of_one.push_back(n);
    }
    EXPECT_TRUE(std::is_sorted(of_one.begin(), of_one.end()));
    EXPECT_EQ(std::adjacent_find(of_one.begin(), of_one.end()), of_one.end()) << "handled twice";
  }
}

// Sends an item to its own mailbox each time that its size is computed.
struct talkative {
  const recipient<item>* to = nullptr;
  [[nodiscard]] std::size_t owned_bytes() const noexcept {
    (void)to->send(item{0});
    return 100;
  }
};

TEST(overload_drop_oldest, accepts_messages_that_a_message_sends_from_owned_bytes) {
  class keeper : public actor {
   public:
    explicit keeper(std::vector<int>& got) : got_(got) {}
    void on(const talkative&) { got_.push_back(1); }
    void on(item i) { got_.push_back(i.number); }

   private:
    std::vector<int>& got_;
  };
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<keeper>(s.here(3, overflow::drop_oldest), got);
  const recipient<item> itself = full;
  for (int i = 0; i < 10; ++i) (void)full.send(talkative{&itself});
  s.play();
  EXPECT_GE(std::count(got.begin(), got.end(), 1), 1);
  EXPECT_EQ(s.system.statistics().messages_waiting, 0u);
}

TEST(overload_drop_oldest, holds_a_limit_of_bytes) {
  class texts : public actor {
   public:
    explicit texts(std::vector<std::size_t>& got) : got_(got) {}
    void on(const std::string& text) { got_.push_back(text.size()); }

   private:
    std::vector<std::size_t>& got_;
  };
  std::vector<std::size_t> got;
  pumped_crowd s;
  spawn_options options = s.here(1'000, overflow::drop_oldest);
  options.max_bytes = 100'000;
  const auto full = s.system.spawn<texts>(options, got);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(full.send(std::string(10'000 + i, 'x')), A);
    EXPECT_LE(s.system.statistics().message_bytes_waiting, 100'000u);
  }
  s.play();
  ASSERT_THAT(got, ::testing::Not(IsEmpty()));
  EXPECT_GE(got.size(), 5u) << "the number may count for up to half of it";
  EXPECT_LE(got.size(), 9u);
  EXPECT_EQ(got.back(), 10'099u);
  EXPECT_EQ(got.front(), 10'100u - got.size());
  EXPECT_EQ(s.full.counts().dropped, 100u - got.size());
}

TEST(overload_drop_oldest, a_message_that_can_never_fit_is_not_accepted) {
  class texts : public actor {
   public:
    void on(const std::string&) {}
  };
  pumped_crowd s;
  spawn_options options = s.here(10, overflow::drop_oldest);
  options.max_bytes = 10'000;
  const auto full = s.system.spawn<texts>(options);
  EXPECT_EQ(full.send(std::string("small")), A);
  EXPECT_NE(full.send(std::string(20'000, 'x')), A);
  EXPECT_EQ(s.system.statistics().messages_waiting, 1u) << "the small one is not the price";
}

TEST(overload_drop_oldest, messages_left_after_termination_are_dead_letters) {
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(3, overflow::drop_oldest), got);
  send_items(full, 5);
  full.stop_now();
  EXPECT_EQ(full.join(), exit_reason::stopped_now);
  EXPECT_THAT(got, IsEmpty());
  EXPECT_THAT(s.told.dead_letters(), SizeIs(3));
  EXPECT_EQ(s.full.counts(), (overload_counts{.dropped = 2}));
  EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
  EXPECT_EQ(s.system.statistics().messages_waiting, 0u);
}

TEST(overload_drop_oldest, an_unreferenced_actor_handles_its_remaining_messages) {
  std::vector<int> got;
  pumped_crowd s;
  send_items(s.system.spawn<sink>(s.here(3, overflow::drop_oldest), got), 5);
  s.play();
  EXPECT_THAT(got, ElementsAre(2, 3, 4));
  EXPECT_EQ(s.system.statistics().actors_alive, 0u);
}

TEST(overload_fail_receiver, terminates_the_receiver_as_failed_and_notifies_its_monitors) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(3, overflow::fail_receiver), got);
  const auto watcher = s.system.spawn<probe>(spawn_options{.where = bound_to(s.pump)}, log);
  watcher.send(call{[&](probe& me) { me.watch(full); }});
  s.play();
  EXPECT_THAT(send_from_a_thread(full, 4), ElementsAre(A, A, A, R));
  EXPECT_EQ(full.join(), exit_reason::failed);
  s.play();
  EXPECT_THAT(got, IsEmpty());
  EXPECT_THAT(log.lines(), ElementsAre("down: failed"));
  watcher.send(call{[&](probe& me) {
    EXPECT_EQ(me.last_down.unhandled, 3u);
    EXPECT_THAT(me.last_down.what, ::testing::Not(IsEmpty()));
  }});
  s.play();
  ASSERT_THAT(s.told.failures(), SizeIs(1));
  EXPECT_EQ(s.told.failures()[0].who, full.address());
  EXPECT_THAT(s.told.failures()[0].what, HasSubstr("full"));
  EXPECT_THAT(s.told.dead_letters(), SizeIs(3));
  EXPECT_EQ(s.full.counts(), (overload_counts{.refused = 1}));
  EXPECT_EQ(s.system.statistics().failures, 1u);
}

TEST(overload_fail_receiver, ends_it_after_the_message_that_it_is_handling) {
  turnstile gate;
  crowd s;
  const auto full = s.system.spawn<slow_sink>(
      spawn_options{.where = own_thread, .max_messages = 2, .on_full = overflow::fail_receiver},
      gate);
  full.send(item{0});
  ASSERT_TRUE(gate.wait_for_one_after(0));
  EXPECT_EQ(send_items(full, 3).back(), R);
  gate.let(10);
  EXPECT_EQ(full.join(), exit_reason::failed);
  EXPECT_EQ(gate.passed(), 1);
}

// ── What always gets through ────────────────────────────────────────────────────────────────────

class always_through : public ::testing::TestWithParam<overflow> {};

std::string name_of(const ::testing::TestParamInfo<overflow>& chosen) {
  static constexpr std::array names{"backpressure", "refuse", "drop_newest", "drop_oldest"};
  return names[chosen.index];
}

INSTANTIATE_TEST_SUITE_P(policies, always_through,
                         ::testing::Values(overflow::backpressure, overflow::refuse,
                                           overflow::drop_newest, overflow::drop_oldest),
                         name_of);

// The test's thread pumps the full one, so it fills it and does not wait.
TEST_P(always_through, a_timers_message) {
  journal log;
  pumped_crowd s;
  const auto full = s.system.spawn<probe>(s.here(2, GetParam()), log);
  full.send(note{"1"});
  full.send(note{"2"});
  full.send_after(0ms, note{"timer"});
  auto repeated = full.send_every(1ms, note{"tick"});
  EXPECT_TRUE(eventually([&] { return s.system.statistics().ticks_skipped > 0; }));
  repeated.cancel();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("1", "2", "timer"));
  EXPECT_EQ(s.full.counts(), overload_counts{});
}

TEST_P(always_through, a_down) {
  journal log;
  pumped_crowd s;
  const auto full = s.system.spawn<probe>(s.here(2, GetParam()), log);
  std::vector<int> got;
  const auto watched = s.system.spawn<sink>(got);
  full.send(call{[&](probe& me) { me.watch(watched); }});
  s.play();
  full.send(note{"1"});
  full.send(note{"2"});
  watched.stop();
  watched.join();
  // The down is sent by the last turn, whose end join() does not wait for.
  EXPECT_TRUE(eventually([&] { return s.system.statistics().messages_waiting >= 3; }));
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("1", "2", "down: stopped"));
}

TEST_P(always_through, a_stop) {
  journal log;
  pumped_crowd s;
  const auto full = s.system.spawn<probe>(s.here(2, GetParam()), log);
  full.send(note{"1"});
  full.send(note{"2"});
  full.stop();
  EXPECT_EQ(full.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("1", "2", "destroyed"));
  EXPECT_EQ(s.full.counts(), overload_counts{});
}

TEST_P(always_through, a_stop_now) {
  journal log;
  pumped_crowd s;
  const auto full = s.system.spawn<probe>(s.here(2, GetParam()), log);
  full.send(note{"1"});
  full.send(note{"2"});
  full.stop_now();
  EXPECT_EQ(full.join(), exit_reason::stopped_now);
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
  EXPECT_THAT(s.told.dead_letters(), SizeIs(2));
}

}  // namespace
}  // namespace troupe::test
