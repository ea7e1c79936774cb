// SPDX-License-Identifier: Apache-2.0
// Accounts that are not settled are reported. Each of these tests plants an entry that stays; what
// the accounts are for is seen in all other tests, which fail for a report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/accounts_test_support.hpp"
#include "actor/side_block.hpp"
#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using strings = std::vector<std::string>;

// The address of an entry that was not taken out. Nothing reads it.
template <class T>
T* some() {
  alignas(std::max_align_t) static std::array<std::byte, 8> place;
  return reinterpret_cast<T*>(place.data());
}

// Reports of an actor in whose side block something is left when it is freed.
strings reported_with(const std::function<void(detail::side_block&)>& plant) {
  const recorded_accounts found;
  journal log;
  {
    stage s;
    auto one = s.spawn<probe>(log);
    one.stop();
    s.play();
    plant(detail::ref_access::block(one).side());
    one = {};
  }
  return found.those();
}

TEST(account, is_settled_for_an_actor_with_an_empty_side_block) {
  EXPECT_THAT(reported_with([](detail::side_block&) {}), IsEmpty());
}

TEST(account, of_suspended_senders_is_reported) {
  EXPECT_THAT(
      reported_with([](detail::side_block& its) { its.waiters = some<detail::paused_sender>(); }),
      ElementsAre("suspended senders in the list of an actor: 1"));
  EXPECT_THAT(
      reported_with([](detail::side_block& its) {
        its.pause.waits_for = some<detail::control_block>();
        its.pause.first = some<detail::control_block>();
        its.pause.others.assign(2, some<detail::control_block>());
      }),
      ElementsAre("the suspension of an actor: 1", "mailboxes that a suspended actor holds: 3"));
}

TEST(account, of_messages_that_wait_for_room_is_reported) {
  EXPECT_THAT(
      reported_with([](detail::side_block& its) { its.line = some<detail::message_in_line>(); }),
      ElementsAre("messages in the line of an actor: 1"));
  EXPECT_THAT(reported_with(
                  [](detail::side_block& its) { its.line_end = some<detail::message_in_line>(); }),
              ElementsAre("messages in the line of an actor: 1"));
  EXPECT_THAT(reported_with([](detail::side_block& its) {
                its.blocking_line = some<detail::message_in_line>();
              }),
              ElementsAre("the place of an exclusive handler in a line: 1"));
}

TEST(account, of_messages_beyond_the_limit_is_reported) {
  EXPECT_THAT(reported_with([](detail::side_block& its) { its.overdrawn = 7; }),
              ElementsAre("bytes of an actor in the overdraft: 7"));
  EXPECT_THAT(reported_with([](detail::side_block& its) { its.uncounted = 2; }),
              ElementsAre("messages that a mailbox does not count: 2"));
}

TEST(account, of_listeners_monitors_and_links_is_reported) {
  EXPECT_THAT(reported_with([](detail::side_block& its) {
                its.termination_notices.listeners = some<detail::end_listener>();
              }),
              ElementsAre("listeners to the end of an actor: 1"));
  EXPECT_THAT(reported_with([](detail::side_block& its) {
                its.termination_notices.watchers = some<detail::watch>();
              }),
              ElementsAre("monitors of an actor: 1"));
  EXPECT_THAT(reported_with([](detail::side_block& its) {
                its.termination_notices.links = std::make_unique<detail::link_table>();
              }),
              ElementsAre("links of an actor: 1"));
}

}  // namespace
}  // namespace troupe::test
