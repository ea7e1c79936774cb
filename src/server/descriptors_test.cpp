// SPDX-License-Identifier: Apache-2.0
#include "descriptors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace troupe::server::detail {
namespace {

using testing::HasSubstr;

TEST(descriptors, the_soft_limit_is_raised_to_the_hard_one) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  const std::size_t may_be = raise_descriptor_limit();
  rlimit now{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  EXPECT_GE(may_be, static_cast<std::size_t>(before.rlim_cur));
}

TEST(descriptors, some_are_kept_for_everything_but_connections) {
  configuration what;
  what.http.limits.connections_max = 1'000;
  const std::size_t reserved = reserved_descriptors(what);
  EXPECT_EQ(room_for_connections(what, 1'000 + reserved).connections_max, 1'000u);
  EXPECT_EQ(room_for_connections(what, 1'000 + reserved).warning, "");
  const auto less = room_for_connections(what, 999 + reserved);
  EXPECT_EQ(less.connections_max, 999u);
  EXPECT_THAT(less.warning, HasSubstr("limits.connections_max is 1000, but only 999 connections"));
  EXPECT_THAT(less.warning, HasSubstr("may open " + std::to_string(999 + reserved)));
  EXPECT_THAT(less.warning, HasSubstr("to " + std::to_string(1'000 + reserved)));
}

TEST(descriptors, some_are_kept_for_the_admin_listener_unless_it_is_off) {
  configuration what;
  const std::size_t with = reserved_descriptors(what);
  what.admin.listen = "off";
  EXPECT_GE(with, reserved_descriptors(what) + http::admin_options().limits.connections_max);
}

TEST(descriptors, half_are_for_connections_when_very_few_are_available) {
  configuration what;
  EXPECT_EQ(room_for_connections(what, 64).connections_max, 32u);
  EXPECT_EQ(room_for_connections(what, 1).connections_max, 1u);
  what.http.limits.connections_max = 20;
  EXPECT_EQ(room_for_connections(what, 64).connections_max, 20u);
}

TEST(descriptors, more_are_kept_for_applications_that_may_connect_to_others) {
  configuration what;
  const std::size_t before = reserved_descriptors(what);
  served_application one;
  one.options.outgoing = http::allowed_hosts::none();
  what.applications.push_back(one);
  EXPECT_EQ(reserved_descriptors(what), before);
  one.options.outgoing = http::allowed_hosts::all();
  one.options.instances = 3;
  what.applications.push_back(one);
  EXPECT_GE(reserved_descriptors(what), before + 3 * one.options.limits.connections);
}

}  // namespace
}  // namespace troupe::server::detail
