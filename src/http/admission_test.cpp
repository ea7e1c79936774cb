// SPDX-License-Identifier: Apache-2.0

#include "admission.hpp"

#include <gtest/gtest.h>

namespace troupe::http::detail {
namespace {

using verdict = admission::verdict;

admission::address from(const char* text) { return boost::asio::ip::make_address(text); }

limits bounds(std::size_t all, std::size_t each) {
  return {.connections_max = all, .connections_per_address_max = each};
}

TEST(admission, is_full_at_its_limit_and_has_room_after_a_leave) {
  admission a{bounds(2, 2)};
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::yes);
  EXPECT_EQ(a.enter(from("10.0.0.2")), verdict::yes);
  EXPECT_EQ(a.enter(from("10.0.0.3")), verdict::full);
  EXPECT_EQ(a.inside(), 2u);
  a.leave(from("10.0.0.1"));
  EXPECT_EQ(a.enter(from("10.0.0.3")), verdict::yes);
}

TEST(admission, one_address_does_not_take_all_places) {
  admission a{bounds(10, 2)};
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::yes);
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::yes);
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::too_many_from_there);
  EXPECT_EQ(a.enter(from("10.0.0.2")), verdict::yes);
  a.leave(from("10.0.0.1"));
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::yes);
}

TEST(admission, an_ipv6_network_counts_as_one_address) {
  admission a{bounds(10, 1)};
  EXPECT_EQ(a.enter(from("2001:db8::1")), verdict::yes);
  EXPECT_EQ(a.enter(from("2001:db8::2:1")), verdict::too_many_from_there);
  EXPECT_EQ(a.enter(from("2001:db8:0:1::1")), verdict::yes);
}

TEST(admission, a_mapped_ipv4_address_is_that_address) {
  admission a{bounds(10, 1)};
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::yes);
  EXPECT_EQ(a.enter(from("::ffff:10.0.0.1")), verdict::too_many_from_there);
  EXPECT_EQ(a.enter(from("::ffff:10.0.0.2")), verdict::yes);
}

TEST(admission, a_client_of_a_proxy_counts_like_one_that_is_connected) {
  admission a{bounds(10, 2)};
  const client_key who(from("10.0.0.1"));
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::yes);
  EXPECT_TRUE(a.enter_client(who));
  EXPECT_FALSE(a.enter_client(who));
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::too_many_from_there);
  EXPECT_EQ(a.inside(), 1u) << "the proxy's connection is counted, not the client's place on it";
  a.leave(from("10.0.0.1"));
  EXPECT_TRUE(a.enter_client(who));
  a.leave_client(who);
  a.leave_client(who);
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::yes);
}

TEST(admission, the_connections_of_a_proxy_are_limited_in_all_alone) {
  admission a{bounds(3, 1)};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a.enter_proxy(), verdict::yes);
  EXPECT_EQ(a.enter_proxy(), verdict::full);
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::full);
  a.leave_proxy();
  EXPECT_EQ(a.enter(from("10.0.0.1")), verdict::yes);
}

TEST(admission, a_place_is_given_back_once_wherever_it_was_moved) {
  admission a{bounds(10, 1)};
  const client_key who(from("10.0.0.1"));
  client_place first;
  ASSERT_TRUE(first.enter(a, who));
  {
    client_place second = std::move(first);
    EXPECT_FALSE(client_place().enter(a, who));
    client_place third;
    ASSERT_TRUE(third.enter(a, client_key(from("10.0.0.2"))));
    third = std::move(second);
    client_place other;
    EXPECT_TRUE(other.enter(a, client_key(from("10.0.0.2")))) << "it was given back";
  }
  EXPECT_TRUE(first.enter(a, who));
  first.leave();
  first.leave();
  EXPECT_TRUE(first.enter(a, who));
}

}  // namespace
}  // namespace troupe::http::detail
