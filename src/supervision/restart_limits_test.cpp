// SPDX-License-Identifier: Apache-2.0
// The placement of a restarted child, and its mailbox between two incarnations: limits, room,
// priorities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

TEST(restart, works_for_an_actor_larger_than_its_slot) {
  struct large : pupil {
    using pupil::pupil;
    char much[100'000] = {};
  };
  clinic<large> on;
  on.open();
  on.tell(fail{"why not"});
  on.tell(say{"again"});
  EXPECT_EQ(on.does.log.lines().back(), "again");
}

TEST(restart, mailbox_limits_hold_between_incarnations) {
  script a("a");
  school on;
  on.open({.min_backoff = 10h, .max_backoff = 10h},
          on.pupil_of(a).options(
              {.where = bound_to(on.pump), .max_messages = 3, .on_full = overflow::refuse}));
  const ref<pupil> it = on.find("a");
  it.send(fail{"why not"});
  on.play();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(it.send(say{"kept"}), delivery::accepted);
  EXPECT_EQ(it.send(say{"too many"}), delivery::refused);
}

TEST(restart, a_forgotten_mailbox_makes_room) {
  clinic<pupil> on;
  on.open_spec(
      child<pupil>("a", std::ref(on.does))
          .clear_mailbox()
          .options(
              {.where = bound_to(on.pump), .max_messages = 4, .on_full = overflow::drop_oldest}));
  on.it.send(fail{"why not"});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(on.it.send(say{"forgotten"}), delivery::accepted);
  on.play();
  EXPECT_EQ(on.told.dead_letters().size(), 3u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(on.it.send(say{"kept"}), delivery::accepted);
  on.play();
  EXPECT_EQ(on.system.statistics().messages_dropped, 0u);
  EXPECT_EQ(on.system.statistics().messages_waiting, 0u);
  EXPECT_EQ(on.system.statistics().message_bytes_waiting, 0u);
}

class with_priorities : public pupil {
 public:
  explicit with_priorities(script& does) : pupil(does), does_(does) {}
  using pupil::on;
  void on(urgent) { does_.write("urgent"); }

 private:
  script& does_;
};

TEST(restart, counts_messages_dropped_before_clear_mailbox_once) {
  clinic<with_priorities> on;
  on.open_spec(
      child<with_priorities>("a", std::ref(on.does))
          .clear_mailbox()
          .options(
              {.where = bound_to(on.pump), .max_messages = 4, .on_full = overflow::drop_oldest}));
  on.let_it([&](pupil&) {
    for (int i = 0; i < 4; ++i) on.it.send(say{"forgotten"});
    on.it.send(urgent{});  // replaces the oldest of these
    throw std::runtime_error("why not");
  });
  EXPECT_EQ(on.system.statistics().messages_dropped, 1u);
  EXPECT_EQ(on.told.dead_letters().size(), 4u);
  on.it.send(say{"waits"});
  EXPECT_EQ(on.system.statistics().messages_waiting, 1u);
}

TEST(restart, by_stop_now_leaves_high_messages_before_the_others) {
  clinic<with_priorities> on;
  on.open();
  on.let_it([&](pupil&) {
    on.it.send(say{"normal"});
    on.it.send(urgent{});
    on.it.stop_now();
  });
  EXPECT_THAT(on.does.log.lines(), ElementsAre("made", "started", "stopped", "destroyed", "made",
                                               "started", "urgent", "normal"));
}

}  // namespace
}  // namespace troupe::test
