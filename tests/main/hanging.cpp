// SPDX-License-Identifier: Apache-2.0
// A test that does not end, for the watchdog.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

std::atomic<int> never{0};

__attribute__((noinline)) void waits_for_what_never_comes() { never.wait(0); }
__attribute__((noinline)) void goes_round_and_round() {
  while (never.load() == 0) {
  }
}

TEST(hanging, passes) {}

TEST(hanging, does_not_end) {
  std::thread other(goes_round_and_round);
  waits_for_what_never_comes();
  other.join();
}

}  // namespace
