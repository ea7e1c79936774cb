// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <troupe/detail/sync/futex.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

TEST(futex, does_not_wait_for_another_value) {
  const atomic<std::uint32_t> word{1};
  futex_wait(word, 0);
  EXPECT_FALSE(futex_wait_until(word, 0, clock::now() + 1h));
}

TEST(futex, a_deadline_long_ago_has_passed) {
  const atomic<std::uint32_t> word{0};
  EXPECT_TRUE(futex_wait_until(word, 0, clock::now() - 1s));
  EXPECT_TRUE(futex_wait_until(word, 0, time_point::min()));
}

TEST(futex, never_times_out_early) {
  const atomic<std::uint32_t> word{0};
  for (int i = 0; i < 20; ++i) {
    const time_point deadline = clock::now() + 500us * i;
    while (!futex_wait_until(word, 0, deadline)) {
    }
    EXPECT_GE(clock::now(), deadline);
  }
}

TEST(futex, a_signal_neither_ends_nor_stretches_a_wait) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {};  // without SA_RESTART: the system call sees EINTR
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const atomic<std::uint32_t> word{0};
  atomic<bool> ended{false};
  thread waiting([&] {
    const time_point deadline = clock::now() + 20ms;
    while (!futex_wait_until(word, 0, deadline)) {
    }
    EXPECT_GE(clock::now(), deadline);
    ended.store(true, release);  // [ended]
  });
  while (!ended.load(acquire)) {  // [ended]
    ::pthread_kill(waiting.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  waiting.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(futex, stampede) {
  atomic<std::uint32_t> word{0};
  std::vector<thread> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.emplace_back([&] {
      // [word] relaxed: nothing else is published with it.
      while (word.load(relaxed) == 0) futex_wait(word, 0);
    });
  }
  // [word] relaxed: as above.
  word.store(1, relaxed);
  futex_wake(word, UINT32_MAX);
  for (thread& one : waiting) one.join();
}

}  // namespace
}  // namespace troupe
