// SPDX-License-Identifier: Apache-2.0
// Supervisors of several children: the order of starting, restarting and terminating.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>
#include <vector>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using strategy = restart_strategy;

TEST(supervisor, children_start_in_their_order) {
  journal all;
  script a("a"), b("b");
  a.also = b.also = &all;
  school on;
  on.open({}, on.pupil_of(a), on.pupil_of(b));
  EXPECT_THAT(all.lines(), ElementsAre("a made", "a started", "b made", "b started"));
}

struct three_scripts {
  journal all;
  script a{"a"}, b{"b"}, c{"c"};
};

struct three : three_scripts, school {
  explicit three(strategy which) {
    supervision rules = at_once;
    rules.strategy = which;
    a.also = b.also = c.also = &all;
    open(rules, pupil_of(a), pupil_of(b), pupil_of(c));
    begun = all.lines().size();
  }
  // The events since the start.
  [[nodiscard]] std::vector<std::string> since() const {
    auto lines = all.lines();
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(begun));
    return lines;
  }
  std::size_t begun = 0;
};

TEST(supervisor, one_for_one_restarts_one) {
  three on(strategy::one_for_one);
  on.tell(on.find("b"), fail{"why not"});
  EXPECT_THAT(on.since(), ElementsAre("b destroyed", "b made", "b started"));
}

TEST(supervisor, one_for_all_stops_in_reverse_and_starts_in_order) {
  three on(strategy::one_for_all);
  on.tell(on.find("b"), fail{"why not"});
  EXPECT_THAT(on.since(),
              ElementsAre("b destroyed", "c stopped", "c destroyed", "a stopped", "a destroyed",
                          "a made", "a started", "b made", "b started", "c made", "c started"));
  for (const child_status& each : on.list()) EXPECT_EQ(each.restarts, 1u);
}

TEST(supervisor, rest_for_one_does_not_restart_earlier_children) {
  three on(strategy::rest_for_one);
  on.tell(on.find("b"), fail{"why not"});
  EXPECT_THAT(on.since(), ElementsAre("b destroyed", "c stopped", "c destroyed", "b made",
                                      "b started", "c made", "c started"));
}

TEST(supervisor, a_restart_keeps_messages_sent_to_siblings) {
  three on(strategy::one_for_all);
  const ref<pupil> a = on.find("a");
  on.a.at_stop = [&] { a.send(say{"stays"}); };
  on.tell(on.find("b"), fail{"why not"});
  EXPECT_EQ(on.a.log.lines().back(), "stays");
  on.a.at_stop = {};
}

TEST(supervisor, two_that_fail_together_are_restarted_together) {
  three on(strategy::one_for_all);
  const ref<pupil> a = on.find("a");
  const ref<pupil> c = on.find("c");
  a.send(fail{"why not"});
  c.send(fail{"me too"});
  on.play();
  EXPECT_EQ(on.a.alive + on.b.alive + on.c.alive, 3);
  EXPECT_LE(on.a.objects, 3);
  for (const child_status& each : on.list()) EXPECT_EQ(each.now, child_status::state::running);
}

TEST(supervisor, stops_its_children_in_reverse_order_before_it_ends) {
  three on(strategy::one_for_one);
  on.head.stop();
  on.play();
  EXPECT_EQ(on.head.join(), exit_reason::stopped);
  EXPECT_THAT(on.since(), ElementsAre("c stopped", "c destroyed", "b stopped", "b destroyed",
                                      "a stopped", "a destroyed"));
}

TEST(supervisor, the_end_of_the_system_stops_them_in_order) {
  three on(strategy::one_for_one);
  EXPECT_TRUE(on.system.shutdown(patience).complete());
  EXPECT_THAT(on.since(), ElementsAre("c stopped", "c destroyed", "b stopped", "b destroyed",
                                      "a stopped", "a destroyed"));
}

}  // namespace
}  // namespace troupe::test
