// SPDX-License-Identifier: Apache-2.0
// Requests where waiting is impossible, with no time to wait, or during shutdown.
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/actor/events.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>

#include "ask_test_support.hpp"

namespace troupe::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class Call>
std::string error_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return "no error";
}

TEST(ask, then_outside_of_a_handler_is_an_error) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  EXPECT_THAT(error_of([&] { it.ask<add>(patience, 1, 2).then([](const ask_result<int>&) {}); }),
              HasSubstr("then() outside of a handler"));
}

TEST(ask, get_in_a_coroutine_is_an_error_that_names_the_actor) {
  talk t;
  t.begin([it = t.it](asker_actor& me) -> task<> {
    auto asked = it.ask<add>(patience, 1, 2);
    const std::string what = error_of([&] { (void)asked.get(); });
    me.log.write(what.find("asker_actor") != what.npos ? "named" : what);
    me.log.write(what.substr(what.rfind(": ") + 2));
    me.log.write(text(co_await std::move(asked)));
  });
  ASSERT_TRUE(t.log.wait_for(3));
  EXPECT_THAT(t.log.lines(), ElementsAre("named", "use co_await", "value"));
}

TEST(ask, get_in_a_hook_is_an_error) {
  journal log;
  ref<oracle> it;
  event begun;
  event go_on;
  {
    troupe::system system({.workers = 1, .on_overload = [&](const overload_event&) {
                             log.write(
                                 error_of([&] { (void)it.ask<answer_later>(patience).get(); }));
                           }});
    stage on;
    it = system.spawn<oracle>();
    const auto full = system.spawn<probe>(
        {.where = own_thread, .max_messages = 1, .on_full = overflow::refuse}, log);
    full.send(call{[&](probe&) {
      begun.set();
      (void)go_on.wait();
    }});
    ASSERT_TRUE(begun.wait());
    while (full.send(note{"more"}) == delivery::accepted) {
    }
    go_on.set();
    ASSERT_TRUE(log.wait_for(1));
    EXPECT_THAT(log.lines()[0], HasSubstr("get() in a hook"));
    it = {};
  }
}

TEST(ask, with_no_time_or_less_is_a_timeout_for_a_thread_and_for_a_coroutine) {
  talk t;
  for (const duration time : {duration{0}, duration{-1s}, duration::min()}) {
    EXPECT_EQ(t.it.ask<answer_later>(time).get().error(), ask_error::timeout);
  }
  t.begin([it = t.it](asker_actor& me) -> task<> {
    for (const duration time : {duration{0}, duration{-1s}, duration::min()}) {
      me.log.write(text(co_await it.ask<answer_later>(time)));
    }
  });
  ASSERT_TRUE(t.log.wait_for(3));
  EXPECT_THAT(t.log.lines(), ElementsAre("timeout", "timeout", "timeout"));
}

TEST(ask, a_request_stays_pending_when_a_wait_with_a_deadline_gives_up) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  auto asked = it.ask<answer_later>(no_timeout);
  const time_point deadline = clock::now() + 2ms;
  EXPECT_FALSE(asked.wait_until(deadline));
  EXPECT_GE(clock::now(), deadline);
  EXPECT_FALSE(asked.wait_for(0s));
  EXPECT_FALSE(asked.wait_for(-1s));
  it.send(answer_now{3});
  EXPECT_TRUE(asked.wait_until(clock::now() + patience));
  EXPECT_EQ(*asked.get(), 3);
}

// Requests in the mailbox, stashed, in a suspended handler, or made too late.
TEST(ask, of_threads_while_the_system_ends_are_all_decided) {
  for (int round = 0; round < 10; ++round) {
    std::optional<troupe::system> system(std::in_place, system_options{.workers = 2});
    const auto it = system->spawn<oracle>();
    journal log;
    const auto waits = system->spawn<asker_actor>(log);
    atomic<int> asked{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i, it, waits] {
        for (bool goes_on = true; goes_on;) {
          const ask_result<int> got = i == 0   ? it.ask<add>(no_timeout, 1, 2).get()
                                      : i == 1 ? it.ask<answer_later>(no_timeout).get()
                                               : waits.ask<add>(no_timeout, 1, 2).get();
          ++asked;
          goes_on = got.has_value();
          if (!goes_on) {
            EXPECT_EQ(got.error(), ask_error::stopped);
          }
        }
      });
    }
    while (asked < 20) it.send(answer_now{1});
    system->shutdown(patience);
    for (std::thread& each : threads) each.join();
    system.reset();
  }
}

}  // namespace
}  // namespace troupe::test
