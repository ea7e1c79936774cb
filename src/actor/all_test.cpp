// SPDX-License-Identifier: Apache-2.0
// Several requests at once: all() and any().
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

TEST(all, returns_the_replies_in_the_order_of_the_requests) {
  talk t;
  t.begin([it = t.it](asker_actor& me) -> task<> {
    auto [sum, words] = co_await all(patience, it.ask<add>(no_timeout, 1, 2),
                                     it.ask<greet>(no_timeout, std::string("all")));
    me.log.write(std::to_string(*sum) + ' ' + *words);
    std::vector<ask_future<int>> many;
    for (int i = 0; i < 3; ++i) many.push_back(it.ask<add>(no_timeout, i, i));
    const auto sums = co_await all(patience, std::move(many));
    me.log.write(std::to_string(*sums[0] + *sums[1] + *sums[2]));
  });
  ASSERT_TRUE(t.log.wait_for(2));
  EXPECT_THAT(t.log.lines(), ElementsAre("3 hello all", "6"));
}

TEST(all, has_one_deadline) {
  talk t;
  t.begin([it = t.it, silent = t.silent](asker_actor& me) -> task<> {
    auto answered = it.ask<add>(no_timeout, 1, 2);
    (void)co_await it.ask<add>(no_timeout, 1, 2);  // so that the previous one is answered as well
    auto [none, other, one] = co_await all(3ms, silent.ask<add>(no_timeout, 1, 2),
                                           silent.ask<add>(no_timeout, 1, 2), std::move(answered));
    me.log.write(text(none) + ' ' + text(other) + ' ' + text(one));
  });
  ASSERT_TRUE(t.log.wait_for(1));
  EXPECT_THAT(t.log.lines(), ElementsAre("timeout timeout value"));
}

TEST(any, returns_the_first_reply) {
  recorder told;
  troupe::system other(told.options());
  talk t;
  t.begin(
      [it = t.it, silent = t.silent, broken = other.spawn<oracle>()](asker_actor& me) -> task<> {
        const auto first =
            co_await any(patience, broken.ask<break_down>(no_timeout),
                         silent.ask<add>(no_timeout, 1, 2), it.ask<add>(no_timeout, 3, 4));
        me.log.write(std::to_string(first.which) + ": " + std::to_string(*first.result));
      });
  ASSERT_TRUE(t.log.wait_for(1));
  EXPECT_THAT(t.log.lines(), ElementsAre("2: 7"));
}

// Both requests are decided while another handler is exclusive: all on one thread, in an order that
// the test chooses.
TEST(any, resumes_once_after_an_exclusive_handler) {
  journal log;
  stage on;
  const auto first = on.spawn<oracle>();
  const auto second = on.spawn<oracle>();
  const auto gate = on.spawn<oracle>();
  const auto who = on.spawn<asker_actor>(log);
  who.send(work{[first, second](asker_actor& me) -> task<> {
    const auto got = co_await any(patience, first.ask<answer_later>(no_timeout),
                                  second.ask<answer_later>(no_timeout));
    me.log.write("any: " + std::to_string(*got.result));
  }});
  who.send(exclusive_work{[gate](asker_actor& me) -> task<> {
    (void)co_await gate.ask<answer_later>(patience);
    me.log.write("exclusive");
  }});
  on.play();
  first.send(answer_now{1});
  second.send(answer_now{2});
  on.play();
  EXPECT_THAT(log.lines(), ::testing::IsEmpty());
  gate.send(answer_now{0});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("exclusive", "any: 1"));
}

TEST(any, returns_an_error_if_there_is_no_reply) {
  talk t;
  t.begin([silent = t.silent](asker_actor& me) -> task<> {
    const auto first =
        co_await any(2ms, silent.ask<add>(no_timeout, 1, 2), silent.ask<add>(no_timeout, 1, 2));
    me.log.write(text(first.result));
  });
  ASSERT_TRUE(t.log.wait_for(1));
  EXPECT_THAT(t.log.lines(), ElementsAre("timeout"));
}

}  // namespace
}  // namespace troupe::test
