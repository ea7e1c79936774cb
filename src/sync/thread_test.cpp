// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <string>
#include <troupe/detail/sync/thread.hpp>

namespace troupe {
namespace {

std::string name_after(std::string_view name) {
  std::string seen(64, '\0');
  thread([&] {
    name_this_thread(name);
    ::pthread_getname_np(::pthread_self(), seen.data(), seen.size());
  }).join();
  return seen.c_str();
}

TEST(thread, carries_its_name) { EXPECT_EQ(name_after("worker 3"), "worker 3"); }

TEST(thread, a_long_name_is_cut_not_refused) {
  EXPECT_EQ(name_after("a name of more than fifteen bytes"), "a name of more ");
}

TEST(thread, that_is_started_carries_its_name) {
  std::string seen(64, '\0');
  start_thread("worker 4", [&] {
    ::pthread_getname_np(::pthread_self(), seen.data(), seen.size());
  }).join();
  EXPECT_STREQ(seen.c_str(), "worker 4");
}

sigset_t blocked_here() {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return blocked;
}

TEST(thread, is_started_with_process_signals_blocked) {
  sigset_t blocked;
  start_thread("worker", [&] { blocked = blocked_here(); }).join();
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGRTMIN}) {
    EXPECT_EQ(::sigismember(&blocked, number), 1) << ::strsignal(number);
  }
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) {
    EXPECT_EQ(::sigismember(&blocked, number), 0) << ::strsignal(number);
  }
}

TEST(thread, starting_one_keeps_the_signal_mask_of_the_caller) {
  sigset_t mine;
  ::sigemptyset(&mine);
  ::sigaddset(&mine, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &mine, nullptr);
  start_thread("worker", [] {}).join();
  const sigset_t after = blocked_here();
  EXPECT_EQ(::sigismember(&after, SIGUSR2), 1);
  EXPECT_EQ(::sigismember(&after, SIGTERM), 0);
  ::pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);
}

}  // namespace
}  // namespace troupe
