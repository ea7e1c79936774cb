// SPDX-License-Identifier: Apache-2.0
// The row `exception` of the contract, and the notifications of a failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <troupe/troupe.hpp>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void fail(probe&) { throw std::runtime_error("broken"); }

TEST(contract, exception_from_on_start_terminates_the_actor_as_failed) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(
      log, steps{.at_start = fail, .at_stop = [&](probe&) { log.write("on_stop"); }});
  a.send(note{"never handled"});
  s.play();
  EXPECT_EQ(a.join(), exit_reason::failed);
  EXPECT_THAT(log.lines(), ElementsAre("destroyed")) << "the destructor runs, on_stop does not";
  const auto failures = s.told.failures();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].who, a.address());
  EXPECT_EQ(failures[0].actor, type_name<probe>());
  EXPECT_EQ(failures[0].message, "on_start");
  EXPECT_EQ(failures[0].what, "broken");
  EXPECT_EQ(s.told.dead_letters().size(), 1u);
  EXPECT_EQ(s.system.statistics().failures, 1u);
}

TEST(contract, exception_from_a_handler_terminates_the_actor_as_failed) {
  journal log;
  stage s;
  const auto a =
      s.system.spawn<probe>(spawn_options{.name = "alice", .where = bound_to(s.pump)}, log,
                            steps{.at_stop = [&](probe&) { log.write("on_stop"); }});
  a.send(note{"handled"});
  a.send(call{fail});
  a.send(note{"never handled"});
  s.play();
  EXPECT_EQ(a.join(), exit_reason::failed);
  EXPECT_THAT(log.lines(), ElementsAre("handled", "destroyed"));
  const auto failures = s.told.failures();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].who, a.address());
  EXPECT_EQ(failures[0].actor, "alice");
  EXPECT_EQ(failures[0].message, type_name<call>());
  EXPECT_EQ(failures[0].what, "broken");
  EXPECT_EQ(a.send(note{"too late"}), delivery::refused);
  EXPECT_EQ(s.told.dead_letters().size(), 2u);
}

TEST(contract, exception_from_on_stop_is_reported_and_the_actor_terminates_as_failed) {
  journal log;
  stage s;
  const auto w = s.spawn<probe>(log);
  for (const bool at_once : {false, true}) {
    const auto a = s.spawn<probe>(log, steps{.at_stop = fail});
    w.send(call{[where = a.address()](probe& me) { me.watch(where); }});
    s.play();
    at_once ? a.stop_now() : a.stop();
    s.play();
    EXPECT_EQ(a.join(), exit_reason::failed);
  }
  EXPECT_THAT(log.lines(), ElementsAre("destroyed", "down: failed", "destroyed", "down: failed"));
  const auto failures = s.told.failures();
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].message, "on_stop");
  EXPECT_EQ(failures[0].what, "broken");
}

TEST(contract, exception_from_on_stop_of_an_unreachable_actor_terminates_it_as_failed) {
  journal log;
  stage s;
  s.spawn<probe>(log, steps{.at_stop = fail});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
  EXPECT_EQ(s.told.failures().size(), 1u);
}

TEST(failure, ends_that_actor_and_no_other_one) {
  journal log;
  recorder told;
  system s{told.options(1)};
  const auto sound = s.spawn<probe>(log);
  for (int i = 0; i < 100; ++i) s.spawn<probe>(log).send(call{fail});
  const auto last = s.spawn<probe>(log);
  last.send(call{fail});
  EXPECT_EQ(last.join(), exit_reason::failed);
  EXPECT_EQ(sound.send(note{"still here"}), delivery::accepted);
  sound.stop();
  EXPECT_EQ(sound.join(), exit_reason::stopped);
  EXPECT_EQ(told.failures().size(), 101u);
}

TEST(failure, is_reported_to_the_system_first_and_then_to_monitoring_actors) {
  journal log;
  system s{{.workers = 1, .on_failure = [&](const failure& f) {
              log.write("on_failure: " + std::string(f.what));
            }}};
  const auto w = s.spawn<probe>(log);
  const auto a = s.spawn<probe>(log);
  w.send(call{[&](probe& me) {
    me.watch(a);
    a.send(call{fail});
  }});
  a.join();
  w.stop();
  w.join();
  EXPECT_THAT(log.lines(),
              ElementsAre("on_failure: broken", "destroyed", "down: failed", "destroyed"));
}

TEST(failure, may_be_an_exception_of_any_type) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.send(call{[](probe&) { throw 42; }});
  s.play();
  EXPECT_EQ(a.join(), exit_reason::failed);
  ASSERT_EQ(s.told.failures().size(), 1u);
  EXPECT_NE(s.told.failures()[0].what, "");
}

TEST(failure, frees_the_message_that_it_failed_on) {
  struct on_it {};
  struct bomb {
    counted<on_it> alive;
  };
  class fragile : public actor {
   public:
    void on(const bomb&) { throw std::runtime_error("broken"); }
  };
  stage s;
  const auto a = s.spawn<fragile>();
  a.send(bomb{});
  a.send(bomb{});
  EXPECT_EQ(counted<on_it>::alive(), 2);
  s.play();
  EXPECT_EQ(counted<on_it>::alive(), 0);
}

TEST(failure, on_a_message_of_a_timer_names_its_type) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  const auto b = s.spawn<probe>(log);
  a.send_after(1us, call{fail});
  EXPECT_EQ(a.join(), exit_reason::failed);
  b.send_every(1us, call{fail});
  EXPECT_EQ(b.join(), exit_reason::failed);
  const auto failures = s.told.failures();
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].message, type_name<call>());
  EXPECT_EQ(failures[1].message, type_name<call>());
}

TEST(failure, in_its_hook_ends_nothing_else) {
  journal log;
  ::testing::internal::CaptureStderr();
  {
    system s{{.workers = 1, .on_failure = [](const failure&) { throw 1; }}};
    const auto a = s.spawn<probe>(log);
    a.send(call{fail});
    EXPECT_EQ(a.join(), exit_reason::failed);
    const auto b = s.spawn<probe>(log);
    b.stop();
    EXPECT_EQ(b.join(), exit_reason::stopped);
  }
  ::testing::internal::GetCapturedStderr();
}

TEST(failure, is_by_default_a_line_on_stderr) {
  journal log;
  ::testing::internal::CaptureStderr();
  {
    system s{{.workers = 1}};
    const auto a = s.spawn<probe>(spawn_options{.name = "alice"}, log);
    a.send(call{fail});
    a.join();
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("alice"));
  EXPECT_THAT(text, HasSubstr(std::string(type_name<call>())));
  EXPECT_THAT(text, HasSubstr("broken"));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(failure_death_test, of_a_destructor_terminates_the_process) {
  class bad : public actor {
   public:
    ~bad() { fail(); }

   private:
    static void fail() { throw std::runtime_error("out of a destructor"); }
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        system s{{.workers = 1}};
        s.spawn<bad>().stop();
      },
      "");
}

TEST(failure, of_no_actor_is_counted_when_all_is_well) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.stop();
  s.play();
  EXPECT_THAT(s.told.failures(), IsEmpty());
  EXPECT_EQ(s.system.statistics().failures, 0u);
}

}  // namespace
}  // namespace troupe::test
