// SPDX-License-Identifier: Apache-2.0

#include "host_policy.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe::http::detail {
namespace {

TEST(host_policy, addresses_and_localhost_pass_with_any_port) {
  const host_policy policy(true, {}, "127.0.0.1");
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:9180", "[::1]:9180", "[::1]", "192.0.2.7:1", "localhost:9180",
        "LocalHost", "admin.localhost:9180", "[fe80::1]:9180"}) {
    EXPECT_TRUE(policy.allows(host)) << host;
  }
}

TEST(host_policy, a_name_that_an_attacker_can_make_resolve_to_the_server_is_refused) {
  const host_policy policy(true, {"Admin.internal"}, "127.0.0.1");
  for (const char* host :
       {"evil.example", "evil.example:9180", "127.0.0.1.evil.example:9180",
        "localhost.evil.example", "evillocalhost", "admin.internal.evil.example",
        "evil.admin.internal", ".localhost.", "admin.internal.", "[evil.example]:9180"}) {
    EXPECT_FALSE(policy.allows(host)) << host;
  }
}

TEST(host_policy, the_name_that_the_server_listens_on_and_listed_names_pass) {
  const host_policy policy(true, {"Admin.internal", "web_1"}, "Troupe.example");
  EXPECT_TRUE(policy.allows("troupe.EXAMPLE:9180"));
  EXPECT_TRUE(policy.allows("admin.internal:9180"));
  EXPECT_TRUE(policy.allows("ADMIN.internal"));
  EXPECT_TRUE(policy.allows("web_1:9180"));
}

TEST(host_policy, no_host_is_no_browser) { EXPECT_TRUE(host_policy(true, {}, "::").allows("")); }

TEST(host_policy, without_the_check_every_host_passes) {
  EXPECT_TRUE(host_policy(false, {}, "127.0.0.1").allows("evil.example"));
}

TEST(host_policy, a_listed_name_that_could_never_match_is_an_error) {
  for (const char* name :
       {"", "admin.internal:9180", "http://admin.internal", "a b", "*.internal"}) {
    EXPECT_THROW(host_policy(true, {name}, "127.0.0.1"), std::invalid_argument) << name;
  }
}

}  // namespace
}  // namespace troupe::http::detail
