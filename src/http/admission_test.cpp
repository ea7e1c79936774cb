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

}  // namespace
}  // namespace troupe::http::detail
