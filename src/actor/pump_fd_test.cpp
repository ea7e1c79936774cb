// SPDX-License-Identifier: Apache-2.0
// Actors in a loop that waits for descriptors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <random>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

/// A system with a pump_fd on the test's thread.
struct poll_stage {
  explicit poll_stage(unsigned workers = 1) : system(told.options(workers)) {}

  template <class A, class... Arguments>
  ref<A> spawn(Arguments&&... arguments) {
    return system.spawn<A>({.where = bound_to(pump.pump())}, std::forward<Arguments>(arguments)...);
  }
  [[nodiscard]] bool is_readable(std::chrono::milliseconds within = 0ms) const {
    pollfd one{.fd = pump.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, static_cast<int>(within.count())) == 1;
  }
  /// Like a loop: drains as long as there is something.
  void play() {
    while (is_readable()) pump.drain();
  }

  recorder told;
  troupe::system system;
  pump_fd pump{system};
};

class sink : public actor {
 public:
  explicit sink(int& handled) : handled_(handled) {}
  void on(int) { ++handled_; }

 private:
  int& handled_;
};

TEST(pump_fd, empty) {
  poll_stage s;
  EXPECT_FALSE(s.is_readable());
  EXPECT_EQ(s.pump.drain(), 0u);
  EXPECT_FALSE(s.is_readable());
}

TEST(pump_fd, is_readable_while_work_is_waiting) {
  journal log;
  poll_stage s;
  const auto a = s.spawn<probe>(log);
  EXPECT_TRUE(s.is_readable()) << "it has to start";
  s.play();
  a.send(note{"1"});
  EXPECT_TRUE(s.is_readable());
  EXPECT_TRUE(s.is_readable()) << "level-triggered";
  EXPECT_EQ(s.pump.drain(), 1u);
  EXPECT_FALSE(s.is_readable());
  EXPECT_THAT(log.lines(), ElementsAre("1"));
}

TEST(pump_fd, is_readable_again_when_a_message_arrives_during_a_drain) {
  journal log;
  poll_stage s;
  const auto a = s.spawn<probe>(log);
  const auto b = s.spawn<probe>(log);
  s.play();
  a.send(call{[&](probe&) { b.send(note{"later"}); }});
  EXPECT_EQ(s.pump.drain(1), 1u);
  EXPECT_TRUE(s.is_readable());
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("later"));
}

TEST(pump_fd, a_round_is_bounded_and_leaves_it_readable) {
  int handled = 0;
  poll_stage s;
  std::vector<ref<sink>> several;
  for (int i = 0; i < 3; ++i) several.push_back(s.spawn<sink>(handled));
  const int many = 3 * static_cast<int>(pump_fd::round);
  for (int i = 0; i < many; ++i) several[static_cast<std::size_t>(i % 3)].send(int{i});
  EXPECT_EQ(s.pump.drain(), pump_fd::round);
  EXPECT_EQ(handled, static_cast<int>(pump_fd::round));
  EXPECT_TRUE(s.is_readable());
  EXPECT_EQ(s.pump.drain(7), 7u);
  EXPECT_TRUE(s.is_readable());
  EXPECT_EQ(s.pump.drain(0), 0u);
  EXPECT_TRUE(s.is_readable());
  s.play();
  EXPECT_EQ(handled, many);
}

TEST(pump_fd, does_not_stay_readable_after_a_join_has_run_the_pump) {
  journal log;
  poll_stage s;
  const auto a = s.spawn<probe>(log);
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  s.pump.drain();
  EXPECT_FALSE(s.is_readable());
}

TEST(pump_fd, drained_by_another_thread_is_a_logic_error_and_loses_nothing) {
  journal log;
  poll_stage s;
  const auto a = s.spawn<probe>(log);
  a.send(note{"1"});
  std::thread([&] { EXPECT_THROW(s.pump.drain(), std::logic_error); }).join();
  EXPECT_TRUE(s.is_readable());
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("1"));
}

TEST(pump_fd, drained_inside_a_handler_is_a_logic_error_and_loses_nothing) {
  journal log;
  poll_stage s;
  const auto a = s.spawn<probe>(log);
  const auto b = s.spawn<probe>(log);
  a.send(call{[&](probe&) {
    b.send(note{"1"});
    EXPECT_THROW(s.pump.drain(), std::logic_error);
    EXPECT_TRUE(s.is_readable());
  }});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("1"));
}

TEST(pump_fd, throws_a_system_error_if_no_descriptor_is_available) {
  system s{{.workers = 1}};
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THROW(pump_fd{s}, std::system_error);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_NO_THROW(pump_fd{s}) << "the failed one has left no pump behind";
}

TEST(pump_fd, is_the_only_pump_of_its_thread) {
  poll_stage s;
  EXPECT_THROW(pump_fd{s.system}, std::logic_error);
}

TEST(pump_fd, destroys_all) {
  journal log;
  recorder told;
  system s{told.options()};
  ref<probe> a;
  {
    pump_fd p{s};
    a = s.spawn<probe>({.where = bound_to(p.pump())}, log,
                       steps{.at_end = [](probe& me) { me.me().send(note{"never"}); }});
    a.send(note{"never"});
  }
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
  EXPECT_THAT(told.dead_letters(), SizeIs(2));
  EXPECT_EQ(a.send(note{"too late"}), delivery::refused);
}

// Many threads send in bursts of random length, so that the loop repeatedly goes to sleep and is
// woken, while it drains rounds of random length. A lost wake-up would hang it in poll(); a
// descriptor that stays readable shows at the end.
TEST(pump_fd, stampede) {
  constexpr int senders = 4;
  constexpr int each = sanitized ? 4'000 : 40'000;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  int handled = 0;
  poll_stage s{2};
  const auto a = s.spawn<sink>(handled);
  const auto b = s.spawn<sink>(handled);
  s.play();
  std::vector<std::thread> threads;
  for (unsigned n = 0; n < senders; ++n) {
    threads.emplace_back([&, n] {
      std::mt19937 random{seed + n};
      for (int i = 0; i < each; ++i) {
        const ref<sink>& to = random() % 2 == 0 ? a : b;
        while (to.send(int{i}) == delivery::refused) std::this_thread::yield();
        if (random() % 64 == 0) std::this_thread::yield();
      }
    });
  }
  std::mt19937 random{seed};
  bool woken = true;
  while (handled < senders * each && woken) {
    woken = s.is_readable(patience);
    s.pump.drain(random() % 3 == 0 ? 1 + random() % 8 : pump_fd::round);
  }
  EXPECT_TRUE(woken) << "the loop slept while there was work, after " << handled;
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(handled, senders * each);
  s.pump.drain();
  EXPECT_FALSE(s.is_readable());
}

}  // namespace
}  // namespace troupe::test
