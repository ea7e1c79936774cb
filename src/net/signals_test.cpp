// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/signals.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include <troupe/detail/sync/thread.hpp>

namespace troupe::net {
namespace {

TEST(signals, a_signal_that_arrives_before_the_wait_is_not_lost) {
  signals s{SIGUSR1, SIGUSR2};
  ::kill(::getpid(), SIGUSR2);
  EXPECT_EQ(s.wait(), SIGUSR2);
}

TEST(signals, a_signal_wakes_the_waiting_thread) {
  signals s{SIGUSR1};
  // A thread that blocks all signals, like the threads of Troupe.
  thread other = start_thread("other", [] { ::kill(::getpid(), SIGUSR1); });
  EXPECT_EQ(s.wait(), SIGUSR1);
  other.join();
}

TEST(signals, cancel_ends_the_wait) {
  {
    signals before{SIGUSR1};
    before.cancel();
    EXPECT_EQ(before.wait(), std::nullopt);
  }
  signals meanwhile{SIGUSR1};
  const std::jthread other{[&] { meanwhile.cancel(); }};
  EXPECT_EQ(meanwhile.wait(), std::nullopt);
}

TEST(signals, destruction_restores_the_previous_handler) {
  const auto ignored = std::signal(SIGUSR1, SIG_IGN);
  { const signals s{SIGUSR1}; }
  ::kill(::getpid(), SIGUSR1);  // would terminate the process
  EXPECT_EQ(std::signal(SIGUSR1, ignored), SIG_IGN);
}

TEST(signals, a_repeating_signal_is_delivered_each_time_and_stays_caught) {
  signals s{SIGUSR1};
  s.repeat(SIGUSR2);
  for (int i = 0; i < 3; ++i) {
    ::kill(::getpid(), SIGUSR2);
    EXPECT_EQ(s.wait(), SIGUSR2);
  }
  ::kill(::getpid(), SIGUSR1);
  EXPECT_EQ(s.wait(), SIGUSR1);
  ::kill(::getpid(), SIGUSR2);  // would terminate the process
  EXPECT_EQ(s.wait(), SIGUSR2);
}

TEST(signals_death, two_sets_are_a_broken_contract) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const signals first{SIGUSR1};
  EXPECT_DEATH(signals{SIGUSR2}, "one at a time");
}

TEST(signals_death, the_second_has_its_default_effect) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto twice = [] {
    signals s{SIGTERM};
    ::kill(::getpid(), SIGTERM);
    if (s.wait() != SIGTERM) return;
    ::kill(::getpid(), SIGTERM);
  };
  EXPECT_EXIT(twice(), testing::KilledBySignal(SIGTERM), "");
}

TEST(signals_death, signals_are_not_caught_after_destruction) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto after = [] {
    { const signals s{SIGTERM}; }
    ::kill(::getpid(), SIGTERM);
  };
  EXPECT_EXIT(after(), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace troupe::net
