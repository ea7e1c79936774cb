// SPDX-License-Identifier: Apache-2.0
// The contract's column of an actor that is being restarted: it is between two incarnations until
// the test lets it have the next one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <troupe/detail/actor/actor_type.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/actor/incarnations.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "actor/test_support.hpp"

namespace troupe::test {

struct number {};

class numbered : public actor {
 public:
  numbered(journal& log, int its_number, bool fails) : log_(log), number_(its_number) {
    if (fails) throw std::runtime_error("cannot be made");
  }
  void on(const note& m) { log_.write(m.text + " " + std::to_string(number_)); }
  void on(const std::function<void()>& what) { what(); }
  int on(number) const { return number_; }

 private:
  journal& log_;
  const int number_;
};

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// State of the actor that it shares with the test.
struct history {
  journal log;
  journal ends;
  int objects = 0;
  bool next_fails = false;
};

class by_the_test final : public detail::incarnations {
 public:
  explicit by_the_test(history& of) : of_(of) {}
  void construct(void* place) override {
    ::new (place) numbered(of_.log, ++of_.objects, std::exchange(of_.next_fails, false));
  }
  void started() noexcept override {}
  bool comes_back(exit_reason why) noexcept override { return why != exit_reason::stopped; }
  void ended(exit_reason why, std::string_view what) noexcept override {
    of_.ends.write(std::string(to_string(why)) + ": " + std::string(what));
  }
  bool forgets_mailbox() const noexcept override { return false; }

 private:
  history& of_;
};

struct restarting_history {
  history past;
};

// Its first incarnation has failed.
struct restarting : restarting_history, stage {
  explicit restarting(spawn_options options = {}) {
    options.where = bound_to(pump);
    it = detail::ref_access::adopt<numbered>(&make_between(
        system, detail::actor_type_of<numbered>, options, std::make_unique<by_the_test>(past)));
    begin();
    fail();
  }
  bool begin() {
    const bool begins = begin_incarnation(detail::ref_access::block(it));
    play();
    return begins;
  }
  void fail() {
    it.send(std::function<void()>([] { throw std::runtime_error("why not"); }));
    play();
  }
  ref<numbered> it;
};

TEST(contract, send_to_a_restarting_actor_is_handled_by_its_next_incarnation) {
  restarting on;
  EXPECT_EQ(on.it.send(note{"sent"}), delivery::accepted);
  on.play();
  EXPECT_THAT(on.past.log.lines(), IsEmpty());
  on.begin();
  EXPECT_THAT(on.past.log.lines(), ElementsAre("sent 2"));
}

TEST(contract, send_to_a_full_restarting_actor_does_not_fail_its_next_incarnation) {
  restarting on({.max_messages = 2, .on_full = overflow::fail_receiver});
  EXPECT_EQ(on.it.send(note{"one"}), delivery::accepted);
  EXPECT_EQ(on.it.send(note{"two"}), delivery::accepted);
  EXPECT_EQ(on.it.send(note{"too many"}), delivery::refused);
  on.begin();
  EXPECT_THAT(on.past.log.lines(), ElementsAre("one 2", "two 2"));
  EXPECT_THAT(on.past.ends.lines(), ElementsAre("failed: why not"));
}

TEST(contract, ask_of_a_restarting_actor_gets_the_reply_of_its_next_incarnation) {
  restarting on;
  auto answer = on.it.ask<number>(patience);
  on.begin();
  EXPECT_EQ(std::move(answer).get().value(), 2);
}

TEST(contract, ask_of_a_restarting_actor_that_terminates_for_good_fails) {
  restarting on;
  auto answer = on.it.ask<number>(patience);
  EXPECT_TRUE(end_for_good(detail::ref_access::block(on.it), exit_reason::failed));
  on.play();
  EXPECT_EQ(std::move(answer).get().error(), ask_error::failed);
}

TEST(contract, send_after_to_a_restarting_actor_is_armed) {
  restarting on;
  (void)on.it.send_after(1ms, note{"later"});
  on.begin();
  ASSERT_TRUE(eventually([&] { return on.play(), !on.past.log.lines().empty(); }));
  EXPECT_THAT(on.past.log.lines(), ElementsAre("later 2"));
}

TEST(contract, timer_cancel_at_a_restarting_actor_cancels) {
  restarting on;
  timer armed = on.it.send_after(10h, note{"later"});
  EXPECT_TRUE(armed.cancel());
  EXPECT_FALSE(armed.cancel());
}

TEST(contract, stop_of_a_restarting_actor_is_handled_by_its_next_incarnation) {
  restarting on;
  on.it.stop();
  on.play();
  EXPECT_FALSE(on.it.join_for(0ms));
  on.begin();
  EXPECT_EQ(on.it.join(), exit_reason::stopped);
  EXPECT_EQ(on.past.objects, 2);
}

// Between the handling of a stop and the end of the turn, another thread ends the object for
// another reason.
TEST(contract, stop_that_is_overtaken_when_it_has_been_handled_is_not_forgotten) {
  restarting on;
  on.begin();
  on.it.send(std::function<void()>([] {
    detail::control_block& me = *detail::this_turn().running;
    EXPECT_TRUE(me.end_after_this_message());
    end_object(me);
  }));
  on.play();
  ASSERT_TRUE(on.it.join_for(0ms));
  EXPECT_EQ(on.it.join(), exit_reason::stopped);
  EXPECT_EQ(on.past.objects, 2);
}

TEST(contract, stop_now_of_a_restarting_actor_terminates_it) {
  restarting on;
  on.it.send(note{"left"});
  on.it.stop_now();
  on.play();
  EXPECT_EQ(on.it.join(), exit_reason::stopped_now);
  EXPECT_EQ(on.told.dead_letters().size(), 1u);
  EXPECT_FALSE(on.begin());
}

TEST(contract, an_exception_from_the_constructor_of_a_restarting_actor_restarts_it) {
  restarting on;
  on.past.next_fails = true;
  on.begin();
  EXPECT_THAT(on.past.ends.lines(), ElementsAre("failed: why not", "failed: cannot be made"));
  on.it.send(note{"sent"});
  on.begin();
  EXPECT_THAT(on.past.log.lines(), ElementsAre("sent 3"));
}

TEST(contract, watch_of_a_restarting_actor_sends_down_when_it_terminates_for_good) {
  restarting on;
  journal log;
  const auto watcher = on.system.spawn<probe>(log);
  watcher.send(call{[&](probe& p) { p.watch(on.it); }});
  watcher.send(note{"watches"});
  ASSERT_TRUE(log.wait_for(1));
  on.begin();
  EXPECT_THAT(log.lines(), ElementsAre("watches"));
  on.it.stop();
  on.play();
  ASSERT_TRUE(log.wait_for(2));
  EXPECT_EQ(log.lines().back(), "down: stopped");
  watcher.stop();
  watcher.join();
}

TEST(contract, weak_ref_lock_of_a_restarting_actor_gives_a_ref) {
  restarting on;
  EXPECT_TRUE(weak_ref<numbered>(on.it).lock());
}

TEST(contract, join_of_a_restarting_actor_waits_until_it_terminates) {
  restarting on;
  EXPECT_FALSE(on.it.join_for(1ms));
  on.begin();
  on.it.stop();
  EXPECT_EQ(on.it.join(), exit_reason::stopped);
}

TEST(contract, the_last_reference_to_a_restarting_actor_is_that_of_its_supervisor) {
  restarting on;
  detail::control_block& block = detail::ref_access::block(on.it);
  block.hold();  // the supervisor's
  on.it.send(note{"sent"});
  on.it = {};
  EXPECT_TRUE(begin_incarnation(block));
  on.play();
  EXPECT_THAT(on.past.log.lines(), ElementsAre("sent 2"));
  EXPECT_EQ(on.system.statistics().actors_alive, 1u);
  block.let_go();
  on.play();
  EXPECT_EQ(on.system.statistics().actors_alive, 0u);
}

TEST(contract, shutdown_with_a_restarting_actor_leaves_it_to_its_supervisor_and_names_it) {
  restarting on;
  const shutdown_report report = on.system.shutdown(0ms);
  ASSERT_EQ(report.stragglers.size(), 1u);
  EXPECT_EQ(report.stragglers[0].doing, "in waiting to be started by its supervisor");
  EXPECT_TRUE(end_for_good(detail::ref_access::block(on.it), exit_reason::failed));
  EXPECT_TRUE(on.system.shutdown(patience).complete());
}

TEST(contract, a_restarting_actor_is_restarted_or_terminated_exactly_once) {
  restarting on;
  detail::control_block& block = detail::ref_access::block(on.it);
  EXPECT_TRUE(begin_incarnation(block));
  EXPECT_FALSE(begin_incarnation(block));
  EXPECT_FALSE(end_for_good(block, exit_reason::failed));
  on.play();
  EXPECT_EQ(on.past.objects, 2);
}

}  // namespace
}  // namespace troupe::test
