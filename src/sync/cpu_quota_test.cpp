// SPDX-License-Identifier: Apache-2.0
#include "cpu_quota.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "fake_control_groups.hpp"

namespace troupe {
namespace {

using test::fake_system;
using test::version_1;
using test::version_2;

TEST(cpu_quota, does_not_exist_without_control_groups) {
  const fake_system one;
  EXPECT_EQ(one.quota(), std::nullopt);
  one.mounts("22 1 0:20 / /proc rw - proc proc rw\n");
  EXPECT_EQ(one.quota(), std::nullopt);
}

TEST(cpu_quota, of_version_2_is_rounded_up) {
  const fake_system one;
  one.mounts(version_2);
  one.is_in("0::/service\n");
  one.second("/service", "max 100000");
  EXPECT_EQ(one.quota(), std::nullopt);
  one.second("/service", "200000 100000");
  EXPECT_EQ(one.quota(), 2u);
  one.second("/service", "250000 100000");
  EXPECT_EQ(one.quota(), 3u);
  one.second("/service", "1000 100000");
  EXPECT_EQ(one.quota(), 1u);
}

TEST(cpu_quota, of_version_2_is_the_least_of_all_groups_around) {
  const fake_system one;
  one.mounts(version_2);
  one.is_in("0::/slice/pod/container\n");
  one.second("/slice", "800000 100000");
  one.second("/slice/pod", "150000 50000");
  one.second("/slice/pod/container", "max 100000");
  EXPECT_EQ(one.quota(), 3u);
  one.second("/slice/pod/container", "600000 100000");
  EXPECT_EQ(one.quota(), 3u);
  one.second("/slice", "100000 100000");
  EXPECT_EQ(one.quota(), 1u);
  one.second("/other", "10000 100000");
  EXPECT_EQ(one.quota(), 1u);
}

TEST(cpu_quota, of_version_2_in_a_namespace_is_that_of_the_root) {
  const fake_system one;
  one.mounts(version_2);
  one.is_in("0::/\n");
  one.second("", "200000 100000");
  EXPECT_EQ(one.quota(), 2u);
}

TEST(cpu_quota, of_version_1_is_the_least_of_all_groups_around) {
  const fake_system one;
  one.mounts(version_1);
  one.is_in("5:memory:/elsewhere\n4:cpu,cpuacct:/slice/container\n");
  one.first("", "-1", "100000");
  one.first("/slice", "-1", "100000");
  one.first("/slice/container", "-1", "100000");
  EXPECT_EQ(one.quota(), std::nullopt);
  one.first("/slice", "350000", "100000");
  EXPECT_EQ(one.quota(), 4u);
  one.first("/slice/container", "50000", "25000");
  EXPECT_EQ(one.quota(), 2u);
}

// A container without its own control group namespace sees the path of the host.
TEST(cpu_quota, is_found_where_a_group_of_the_host_is_mounted) {
  const fake_system one;
  one.mounts(
      "33 25 0:29 /docker/4711 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n");
  one.is_in("4:cpu,cpuacct:/docker/4711/inner\n");
  one.first("", "200000", "100000");
  EXPECT_EQ(one.quota(), 2u);
  one.first("/inner", "100000", "100000");
  EXPECT_EQ(one.quota(), 1u);
  one.is_in("4:cpu,cpuacct:/elsewhere\n");
  EXPECT_EQ(one.quota(), 2u);
}

TEST(cpu_quota, of_both_versions_is_the_smaller_one) {
  const fake_system one;
  one.mounts(version_1 + "34 25 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  one.is_in("4:cpu,cpuacct:/a\n0::/a\n");
  one.first("/a", "300000", "100000");
  one.write("/sys/fs/cgroup/unified/a/cpu.max", "200000 100000\n");
  EXPECT_EQ(one.quota(), 2u);
}

TEST(cpu_quota, does_not_exist_if_the_files_are_malformed) {
  const fake_system one;
  one.mounts(version_2 + "- - -\nnothing\n");
  one.is_in("nothing\n0::/service\n");
  one.second("/service", "much");
  EXPECT_EQ(one.quota(), std::nullopt);
  one.second("/service", "100000 0");
  EXPECT_EQ(one.quota(), std::nullopt);
  one.second("/service", "-5 100000");
  EXPECT_EQ(one.quota(), std::nullopt);
}

}  // namespace
}  // namespace troupe
