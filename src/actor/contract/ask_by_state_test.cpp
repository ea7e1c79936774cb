// SPDX-License-Identifier: Apache-2.0
// The result of a request in each state of the asked actor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/ask_test_support.hpp"
#include "actor/overload_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class respondent;
struct act {
  std::function<void(respondent&)> what;
};

/// Replies, and does at its start and its stop what the test says.
class respondent : public actor {
 public:
  explicit respondent(journal& log, std::function<void(respondent&)> at_start = {},
                      std::function<void(respondent&)> at_stop = {})
      : log_(log), at_start_(std::move(at_start)), at_stop_(std::move(at_stop)) {}
  void on_start() {
    log_.write("on_start");
    if (at_start_) at_start_(*this);
  }
  void on_stop() {
    if (at_stop_) at_stop_(*this);
  }
  int on(add m) {
    log_.write("asked");
    return m.a + m.b;
  }
  void on(const act& m) { m.what(*this); }
  void on(const note& n) { log_.write(n.text); }
  [[nodiscard]] self_ref<respondent> me() { return self(this); }

 private:
  journal& log_;
  const std::function<void(respondent&)> at_start_;
  const std::function<void(respondent&)> at_stop_;
};

void fail(respondent&) { throw std::runtime_error("on purpose"); }

TEST(contract, ask_of_a_starting_actor_gets_its_reply_after_on_start) {
  journal log;
  stage s;
  const auto a = s.spawn<respondent>(log);
  auto asked = a.ask<add>(patience, 1, 2);
  EXPECT_THAT(log.lines(), IsEmpty());
  EXPECT_EQ(*asked.get(), 3);
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "asked"));
}

TEST(contract, ask_of_a_starting_actor_whose_on_start_throws_fails) {
  journal log;
  stage s;
  const auto a = s.spawn<respondent>(log, fail);
  auto asked = a.ask<add>(patience, 1, 2);
  EXPECT_EQ(asked.get().error(), ask_error::failed);
  EXPECT_THAT(log.lines(), ElementsAre("on_start"));
}

TEST(contract, ask_of_a_starting_actor_that_is_stopped_now_is_stopped) {
  journal log;
  stage s;
  const auto a = s.spawn<respondent>(log);
  auto asked = a.ask<add>(patience, 1, 2);
  a.stop_now();
  EXPECT_EQ(asked.get().error(), ask_error::stopped);
}

TEST(contract, ask_of_a_running_actor_gets_its_reply_after_earlier_messages) {
  journal log;
  stage s;
  const auto a = s.spawn<respondent>(log);
  s.play();
  a.send(note{"before"});
  auto asked = a.ask<add>(patience, 1, 2);
  EXPECT_EQ(*asked.get(), 3);
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "before", "asked"));
}

TEST(contract, ask_of_a_suspended_actor_gets_its_reply_after_the_suspension) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2), got);
  const auto paused = s.system.spawn<respondent>(log);
  paused.send(act{[&](respondent&) { send_items(full, 3); }});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  auto asked = paused.ask<add>(patience, 1, 2);
  EXPECT_EQ(s.system.statistics().senders_paused, 1u);
  EXPECT_THAT(log.lines(), ElementsAre("on_start"));
  s.play();
  EXPECT_EQ(*asked.get(), 3);
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "asked"));
}

TEST(contract, ask_of_a_suspended_actor_that_is_stopped_now_is_stopped) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto full = s.system.spawn<sink>(s.here(2), got);
  const auto paused = s.system.spawn<respondent>(log);
  paused.send(act{[&](respondent&) { send_items(full, 3); }});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  auto asked = paused.ask<add>(patience, 1, 2);
  paused.stop_now();
  EXPECT_EQ(paused.join(), exit_reason::stopped_now);
  EXPECT_EQ(asked.get().error(), ask_error::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("on_start"));
}

// Asked before `stop` is handled, but after it was sent; and within on_stop().
struct stopping {
  explicit stopping(std::function<void(respondent&)> then = {})
      : a(on.spawn<respondent>(log, nullptr, [this, then = std::move(then)](respondent& me) {
          within.emplace(me.me().ask<add>(patience, 1, 2));
          if (then) then(me);
        })) {
    on.play();
  }

  journal log;
  stage on;
  std::optional<ask_future<int>> within;
  ref<respondent> a;
};

TEST(contract, ask_of_a_stopping_actor_is_stopped) {
  stopping s;
  s.a.stop();
  auto behind = s.a.ask<add>(patience, 1, 2);
  s.on.play();
  EXPECT_EQ(s.a.join(), exit_reason::stopped);
  EXPECT_EQ(behind.get().error(), ask_error::stopped);
  EXPECT_EQ(s.within->get().error(), ask_error::stopped);
  EXPECT_THAT(s.log.lines(), ElementsAre("on_start"));
}

TEST(contract, ask_of_a_stopping_actor_whose_on_stop_throws_is_failed) {
  stopping s(fail);
  s.a.stop();
  auto behind = s.a.ask<add>(patience, 1, 2);
  s.on.play();
  EXPECT_EQ(s.a.join(), exit_reason::failed);
  EXPECT_EQ(behind.get().error(), ask_error::failed);
  EXPECT_EQ(s.within->get().error(), ask_error::failed);
}

TEST(contract, ask_of_an_actor_that_terminates_as_failed_is_failed) {
  journal log;
  stage on;
  const auto a = on.spawn<respondent>(log);
  a.send(act{fail});
  auto behind = a.ask<add>(patience, 1, 2);
  on.play();
  EXPECT_EQ(a.join(), exit_reason::failed);
  EXPECT_EQ(behind.get().error(), ask_error::failed);
}

TEST(contract, ask_of_a_terminated_actor_reports_how_it_terminated) {
  journal log;
  stage s;
  const auto stopped = s.spawn<respondent>(log);
  const auto stopped_now = s.spawn<respondent>(log);
  const auto failed = s.spawn<respondent>(log);
  const auto failed_at_stop = s.spawn<respondent>(log, nullptr, fail);
  stopped.stop();
  stopped_now.stop_now();
  failed.send(act{fail});
  failed_at_stop.stop();
  s.play();
  EXPECT_EQ(stopped.ask<add>(patience, 1, 2).get().error(), ask_error::stopped);
  EXPECT_EQ(stopped_now.ask<add>(patience, 1, 2).get().error(), ask_error::stopped);
  EXPECT_EQ(failed.ask<add>(patience, 1, 2).get().error(), ask_error::failed);
  EXPECT_EQ(failed_at_stop.ask<add>(patience, 1, 2).get().error(), ask_error::failed);
}

}  // namespace
}  // namespace troupe::test
