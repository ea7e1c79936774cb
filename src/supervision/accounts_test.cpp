// SPDX-License-Identifier: Apache-2.0
// Accounts of names and topics that are not settled are reported. Each of these tests plants an
// entry that stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <troupe/detail/actor/end_listener.hpp>
#include <troupe/detail/actor/extension.hpp>
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>

#include "actor/accounts_test_support.hpp"
#include "actor/test_support.hpp"
#include "name_registry.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(account, of_names_is_reported) {
  const recorded_accounts found;
  {
    stage s;
    auto& registry = detail::extension_of<detail::name_registry>(s.system);
    registry.part_of("alice").names.emplace("alice", nullptr);
  }
  EXPECT_THAT(found.those(), ElementsAre("names of a system: 1"));
}

TEST(account, of_waiters_for_a_name_is_reported) {
  const recorded_accounts found;
  {
    stage s;
    auto& registry = detail::extension_of<detail::name_registry>(s.system);
    auto& waiting = registry.part_of("alice").waiting;
    (void)waiting["alice"].try_add(detail::name_waiter_key{}, nullptr);
  }
  EXPECT_THAT(found.those(), ElementsAre("names that are waited for: 1"));
}

struct news {};

class reader : public actor {
 public:
  void on(const news&) {}
};

// The end of the subscriber does not come to the topic.
TEST(account, of_subscriptions_is_reported) {
  const recorded_accounts found;
  std::shared_ptr<detail::subscriber> left;
  {
    stage s;
    const topic<news> t(s.system, "news");
    const auto a = s.spawn<reader>();
    const auto b = s.spawn<reader>();
    (void)t.subscribe(a);
    (void)t.subscribe(b);
    const auto core = detail::topic_core::named(s.system, "news", detail::identity_of<news>);
    left = core->begin(nullptr)->front();
    ASSERT_TRUE(detail::unlisten_to_end(detail::ref_access::block(a), *left));
  }
  EXPECT_THAT(found.those(), ElementsAre("subscriptions to topics: 1"));
  left->ended();
}

// Also of a topic without a name, and of one that outlives the system.
TEST(account, of_subscriptions_is_settled_when_their_actors_have_ended) {
  const recorded_accounts found;
  topic<news> outlives;
  {
    stage s;
    outlives = topic<news>(s.system, "news");
    const topic<news> nameless;
    const auto a = s.spawn<reader>();
    (void)outlives.subscribe(a);
    EXPECT_TRUE(nameless.subscribe(a).unsubscribe());
    (void)nameless.subscribe(a);
  }
  EXPECT_THAT(found.those(), IsEmpty());
  EXPECT_EQ(outlives.subscribers(), 0u);
}

}  // namespace
}  // namespace troupe::test
