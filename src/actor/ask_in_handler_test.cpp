// SPDX-License-Identifier: Apache-2.0
// get() in handlers: it returns a reply, or an error that says what to do instead.
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/actor/blocking.hpp>
#include <troupe/actor/serial_group.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/detail/sync/atomic.hpp>

#include "ask_test_support.hpp"

namespace troupe::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct descend {
  int levels;
};

/// Asks the next one of these, which asks the next one, and so on; each blocks its thread
/// meanwhile. If a get() is refused, its request has been made nevertheless: the actors below
/// continue.
class descender : public actor {
 public:
  /// The dispatcher that it is on, and the next one.
  explicit descender(journal& errors, std::string here = {}, std::string there = {})
      : errors_(errors), here_(std::move(here)), there_(std::move(there)) {}
  int on(descend m) {
    if (m.levels == 0) return 0;
    const auto below = system().spawn<descender>({.dispatcher = there_}, errors_, there_, here_);
    try {
      return below.ask<descend>(patience, m.levels - 1).get().value() + 1;
    } catch (const std::logic_error& e) {
      errors_.write(e.what());
      throw;
    }
  }

 private:
  journal& errors_;
  const std::string here_;
  const std::string there_;
};

void say_nothing(const failure&) {}

TEST(get_in_a_handler, fails_if_no_thread_of_the_pool_would_be_left) {
  journal errors;
  troupe::system system({.workers = 2, .max_threads = 4, .on_failure = say_nothing});
  const auto top = system.spawn<descender>(errors);
  EXPECT_EQ(top.ask<descend>(no_timeout, 20).get().error(), ask_error::failed);
  ASSERT_THAT(errors.lines(), Not(IsEmpty()));
  EXPECT_THAT(errors.lines(),
              Each(AllOf(HasSubstr("co_await or then()"), HasSubstr("max_threads"))));
  ASSERT_TRUE(system.join_all_for(patience)) << "those that it asked before have ended as well";
  EXPECT_EQ(system.spawn<descender>(errors).ask<descend>(no_timeout, 1).get().value(), 1)
      << "and the threads are free again";
}

TEST(get_in_a_handler, ends_where_many_handlers_ask_at_once) {
  class fibonacci : public actor {
   public:
    int on(descend m) {
      if (m.levels < 2) return m.levels;
      auto one = system().spawn<fibonacci>().ask<descend>(patience, m.levels - 1);
      auto two = system().spawn<fibonacci>().ask<descend>(patience, m.levels - 2);
      return one.get().value() + two.get().value();
    }
  };
  troupe::system system({.workers = 2, .max_threads = 8, .on_failure = say_nothing});
  EXPECT_EQ(system.spawn<fibonacci>().ask<descend>(no_timeout, 4).get().value(), 3);
  const auto large = system.spawn<fibonacci>().ask<descend>(no_timeout, 14).get();
  EXPECT_TRUE(large.has_value() || large.error() == ask_error::failed);
  EXPECT_TRUE(system.shutdown(patience).complete());
}

TEST(get_in_a_handler, ends_where_two_pools_ask_each_other) {
  journal errors;
  troupe::system system({.workers = 1,
                         .max_threads = 2,
                         .dispatchers = {{.name = "other", .workers = 1, .max_threads = 2}},
                         .on_failure = say_nothing});
  const auto top = system.spawn<descender>(errors, "", "other");
  EXPECT_EQ(top.ask<descend>(no_timeout, 10).get().error(), ask_error::failed);
  EXPECT_THAT(errors.lines(), Not(IsEmpty()));
}

TEST(get_in_a_handler, is_refused_while_all_other_threads_are_inside_blocking) {
  journal log;
  event blocks;
  event go_on;
  troupe::system system({.workers = 2, .max_threads = 2});
  const auto it = system.spawn<oracle>();
  const auto blocked = system.spawn<probe>(log);
  const auto who = system.spawn<probe>(log);
  blocked.send(call{[&](probe&) {
    blocking([&] {
      blocks.set();
      go_on.wait();
    });
  }});
  ASSERT_TRUE(blocks.wait());
  who.send(call{[&](probe&) {
    try {
      (void)it.ask<add>(patience, 1, 2).get();
      log.write("a reply");
    } catch (const std::logic_error& e) {
      log.write(e.what());
    }
  }});
  ASSERT_TRUE(log.wait_for(1));
  go_on.set();
  EXPECT_THAT(log.lines()[0], HasSubstr("every thread that could run it waits or blocks"));
  blocked.stop();
  blocked.join();
  who.send(call{[&](probe&) { log.write(text(it.ask<add>(patience, 1, 2).get())); }});
  ASSERT_TRUE(log.wait_for(3));
  EXPECT_EQ(log.lines()[2], "value") << "once that is over there is a thread for it";
}

TEST(get_in_a_handler, needs_a_time_out_wherever_the_actor_runs) {
  journal log;
  stage on;
  const auto it = on.system.spawn<oracle>();
  const auto wait = [&](probe&) {
    try {
      (void)it.ask<answer_later>(no_timeout).get();
    } catch (const std::logic_error& e) {
      log.write(e.what());
    }
  };
  const serial_group group(on.system);
  on.system.spawn<probe>(log).send(call{wait});
  on.system.spawn<probe>({.where = own_thread}, log).send(call{wait});
  on.system.spawn<probe>({.group = group}, log).send(call{wait});
  on.spawn<probe>(log).send(call{wait});
  const auto refused = [&] {
    std::vector<std::string> lines = log.lines();
    std::erase(lines, "destroyed");
    return lines;
  };
  ASSERT_TRUE(eventually([&] {
    on.play();
    return refused().size() == 4;
  }));
  EXPECT_THAT(refused(),
              Each(AllOf(HasSubstr("without a time-out"), HasSubstr("co_await or then()"))));
}

TEST(get_in_a_handler, takes_the_deadline_of_wait_until_instead_of_a_time_out) {
  journal log;
  troupe::system system({.workers = 1});
  const auto it = system.spawn<oracle>();
  const auto who = system.spawn<probe>(log);
  who.send(call{[&](probe&) {
    auto asked = it.ask<add>(no_timeout, 1, 2);
    if (asked.wait_for(patience)) log.write(text(asked.get()));
  }});
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines()[0], HasSubstr("value"));
}

}  // namespace
}  // namespace troupe::test
