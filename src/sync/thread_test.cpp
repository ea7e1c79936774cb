// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>

#include <string>
#include <troupe/sync/thread.hpp>

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

}  // namespace
}  // namespace troupe
