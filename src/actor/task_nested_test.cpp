// SPDX-License-Identifier: Apache-2.0
// Tasks that await tasks, and sleeping.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "ask_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

task<int> count_down(int from, ref<oracle> it) {
  if (from == 0) co_return 0;
  const auto one = co_await it.ask<add>(patience, 0, 1);
  co_return *one + co_await count_down(from - 1, it);
}
task<int> throws(ref<oracle> it) {
  (void)co_await it.ask<add>(patience, 0, 1);
  throw std::runtime_error("deep");
}

TEST(task, awaits_other_tasks) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<asker_actor>(log);
  who.send(work{[it](asker_actor& me) -> task<> {
    me.log.write(std::to_string(co_await count_down(5, it)));
    try {
      (void)co_await throws(it);
    } catch (const std::runtime_error& e) {
      me.log.write(e.what());
    }
  }});
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_THAT(log.lines(), ElementsAre("5", "deep"));
}

task<int> at_once(int n) { co_return n; }

TEST(task, a_million_in_a_row_that_never_wait_do_not_use_up_the_stack) {
  journal log;
  troupe::system system;
  const auto who = system.spawn<asker_actor>(log);
  who.send(work{[](asker_actor& me) -> task<> {
    int sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum += co_await at_once(1);
    me.log.write(std::to_string(sum));
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("1000000"));
}

TEST(sleep, does_not_resume_early) {
  journal log;
  troupe::system system;
  const auto who = system.spawn<asker_actor>(log);
  const time_point began = clock::now();
  who.send(work{[began](asker_actor& me) -> task<> {
    co_await sleep_for(3ms);
    me.log.write(clock::now() >= began + 3ms ? "not early" : "early");
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("not early"));
}

}  // namespace
}  // namespace troupe::test
