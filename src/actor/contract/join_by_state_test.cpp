// SPDX-License-Identifier: Apache-2.0
// The row `join` of the contract, and the places from which it may be called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <stdexcept>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Another thread waits; it records the result, and whether the destructor had returned by then.
struct joined {
  exit_reason reason;
  std::vector<std::string> lines;
};
std::future<joined> join_elsewhere(ref<probe> a, const journal& log) {
  return std::async(std::launch::async, [a = std::move(a), &log] {
    const exit_reason reason = a.join();
    return joined{reason, log.lines()};
  });
}

TEST(contract, join_of_a_starting_actor_waits) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  auto waiting = join_elsewhere(a, log);
  std::async(std::launch::async, [&] { EXPECT_EQ(a.join_for(0s), std::nullopt); }).get();
  a.stop();
  s.play();
  const joined end = waiting.get();
  EXPECT_EQ(end.reason, exit_reason::stopped);
  EXPECT_THAT(end.lines, ElementsAre("destroyed"));
}

TEST(contract, join_of_a_running_actor_waits) {
  journal log;
  event handling;
  event go_on;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(log);
  a.send(call{[&](probe&) {
    handling.set();
    go_on.wait();
    log.write("handled");
  }});
  ASSERT_TRUE(handling.wait());
  EXPECT_EQ(a.join_for(0s), std::nullopt);
  EXPECT_EQ(a.join_until(clock::now() - 1s), std::nullopt);
  auto waiting = join_elsewhere(a, log);
  a.stop();
  go_on.set();
  const joined end = waiting.get();
  EXPECT_EQ(end.reason, exit_reason::stopped);
  EXPECT_THAT(end.lines, ElementsAre("handled", "destroyed"));
}

TEST(contract, join_of_a_stopping_actor_waits) {
  journal log;
  event in_destructor;
  event go_on;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(log, steps{.at_end = [&](probe&) {
                                  in_destructor.set();
                                  go_on.wait();
                                }});
  a.stop_now();
  ASSERT_TRUE(in_destructor.wait());
  EXPECT_EQ(a.join_for(0s), std::nullopt);
  auto waiting = join_elsewhere(a, log);
  go_on.set();
  const joined end = waiting.get();
  EXPECT_EQ(end.reason, exit_reason::stopped_now);
  EXPECT_THAT(end.lines, ElementsAre("destroyed"));
}

TEST(contract, join_of_a_terminated_actor_returns_the_exit_reason_at_once) {
  journal log;
  stage s;
  const auto stopped = s.spawn<probe>(log);
  const auto stopped_now = s.spawn<probe>(log);
  const auto failed = s.spawn<probe>(log);
  stopped.stop();
  stopped_now.stop_now();
  failed.send(call{[](probe&) { throw 1; }});
  s.play();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(stopped.join(), exit_reason::stopped);
    EXPECT_EQ(stopped_now.join(), exit_reason::stopped_now);
    EXPECT_EQ(failed.join_for(0s), exit_reason::failed);
    EXPECT_EQ(failed.join_until(time_point::min()), exit_reason::failed);
  }
  EXPECT_EQ(std::async(std::launch::async, [&] { return stopped.join(); }).get(),
            exit_reason::stopped);
}

TEST(join, with_a_deadline_returns_the_reason_if_the_actor_terminates_first) {
  journal log;
  system s{{.workers = 2}};
  const auto a = s.spawn<probe>(log);
  a.stop();
  EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
  EXPECT_EQ(a.join_until(time_point::max()), exit_reason::stopped);
}

TEST(join, with_a_deadline_is_not_early) {
  journal log;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(log);
  const time_point deadline = clock::now() + 5ms;
  EXPECT_EQ(a.join_until(deadline), std::nullopt);
  EXPECT_GE(clock::now(), deadline);
}

TEST(join, with_the_longest_time_waits_for_the_end) {
  journal log;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(log);
  a.send(call{[](probe& me) { me.stop(); }});
  EXPECT_EQ(a.join_for(duration::max()), exit_reason::stopped);
}

TEST(join, by_many_threads_returns_in_all_of_them) {
  for (int round = 0; round < 50; ++round) {
    journal log;
    system s{{.workers = 1}};
    const auto a = s.spawn<probe>(log);
    std::vector<std::future<joined>> waiting;
    for (int i = 0; i < 4; ++i) waiting.push_back(join_elsewhere(a, log));
    a.stop();
    for (auto& each : waiting) {
      const joined end = each.get();
      EXPECT_EQ(end.reason, exit_reason::stopped);
      EXPECT_THAT(end.lines, ElementsAre("destroyed"));
    }
  }
}

TEST(join, on_the_thread_of_its_pump_pumps) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.send(note{"handled"});
  EXPECT_EQ(a.join_for(0s), std::nullopt);
  EXPECT_THAT(log.lines(), ElementsAre("handled"));
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

TEST(join, on_the_thread_of_its_pump_waits_for_others_to_send) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  s.play();
  const auto other = s.system.spawn<probe>(log);
  other.send(call{[&](probe&) { a.stop(); }});
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

// True if join_for() throws in this handler.
bool refused(const ref<probe>& target) {
  try {
    (void)target.join_for(0s);
    return false;
  } catch (const std::logic_error&) {
    return true;
  }
}

TEST(join, in_a_handler_on_the_pool_is_a_logic_error) {
  journal log;
  system s{{.workers = 2}};
  const auto target = s.spawn<probe>(log);
  const auto a = s.spawn<probe>(log);
  a.send(call{[&](probe&) { EXPECT_TRUE(refused(target)); }});
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

TEST(join, in_a_handler_on_a_pump_is_a_logic_error) {
  journal log;
  stage s;
  const auto target = s.spawn<probe>(log);
  const auto a = s.spawn<probe>(log);
  a.send(call{[&](probe&) { EXPECT_TRUE(refused(target)); }});
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

TEST(join, in_a_handler_that_has_its_own_thread_waits) {
  journal log;
  system s{{.workers = 1}};
  const auto target = s.spawn<probe>(log);
  const auto a = s.spawn<probe>(spawn_options{.where = own_thread}, log);
  a.send(call{[&](probe&) {
    target.stop();
    EXPECT_EQ(target.join(), exit_reason::stopped);
  }});
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

TEST(join, of_itself_is_a_logic_error) {
  journal log;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(spawn_options{.where = own_thread}, log);
  a.send(call{[](probe& me) { EXPECT_TRUE(refused(ref<probe>(me.me()))); }});
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

}  // namespace
}  // namespace troupe::test
