// SPDX-License-Identifier: Apache-2.0

#include "origin.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe::http::detail {
namespace {

TEST(origin_policy, the_same_host_and_port_pass) {
  const origin_policy policy{true, {}};
  EXPECT_TRUE(policy.allows("http://127.0.0.1:8080", "127.0.0.1:8080"));
  EXPECT_TRUE(policy.allows("http://Localhost", "localHOST"));
  EXPECT_TRUE(policy.allows("http://app.localhost:3000", "app.localhost:3000"));
  EXPECT_TRUE(policy.allows("http://[::1]:8080", "[::1]:8080"));
  EXPECT_TRUE(policy.allows("http://192.0.2.7", "192.0.2.7"));
  EXPECT_TRUE(policy.allows("https://example.org", "example.org"));
}

TEST(origin_policy, a_name_that_anyone_could_have_resolve_to_the_server_is_no_own_host) {
  const origin_policy policy{true, {"http://intranet:8080"}, false, "Troupe.example"};
  EXPECT_FALSE(policy.allows("http://evil.example:8080", "evil.example:8080"));
  EXPECT_FALSE(policy.allows("http://localhost.evil.example", "localhost.evil.example"));
  EXPECT_FALSE(policy.allows("http://127.0.0.1.evil.example", "127.0.0.1.evil.example"));
  EXPECT_FALSE(policy.allows("http://evillocalhost", "evillocalhost"));
  EXPECT_TRUE(policy.allows("http://troupe.example:8080", "troupe.example:8080"));
  EXPECT_TRUE(policy.allows("http://intranet:8080", "intranet:8080"));
}

TEST(origin_policy, the_default_port_of_a_scheme_may_be_omitted) {
  const origin_policy policy{true, {}};
  EXPECT_TRUE(policy.allows("http://127.0.0.1", "127.0.0.1:80"));
  EXPECT_TRUE(policy.allows("https://example.org:443", "example.org"));
  EXPECT_FALSE(policy.allows("https://example.org", "example.org:80"));
}

TEST(origin_policy, another_host_or_port_is_refused) {
  const origin_policy policy{true, {}};
  EXPECT_FALSE(policy.allows("http://evil.example", "127.0.0.1"));
  EXPECT_FALSE(policy.allows("https://evil.example", "example.org"));
  EXPECT_FALSE(policy.allows("https://example.org.evil.example", "example.org"));
  EXPECT_FALSE(policy.allows("http://127.0.0.1:81", "127.0.0.1:80"));
  EXPECT_FALSE(policy.allows("http://127.0.0.1", ""));
}

TEST(origin_policy, an_invalid_origin_is_refused) {
  const origin_policy policy{true, {}};
  EXPECT_FALSE(policy.allows("null", "null"));
  EXPECT_FALSE(policy.allows("example.org", "example.org"));
  EXPECT_FALSE(policy.allows("http://:80", ""));
  EXPECT_FALSE(policy.allows("http://:8080", ":8080"));
  EXPECT_FALSE(policy.allows("http://user@example.org", "example.org"));
  EXPECT_FALSE(policy.allows("http://example.org/path", "example.org"));
}

TEST(origin_policy, no_origin_is_no_browser) {
  EXPECT_TRUE((origin_policy{true, {}}.allows("", "example.org")));
}

TEST(origin_policy, allowed_origins_pass_with_their_scheme_only) {
  const origin_policy policy{true, {"https://App.example:443"}};
  EXPECT_TRUE(policy.allows("https://app.example", "api.example"));
  EXPECT_FALSE(policy.allows("http://app.example", "api.example"));
}

TEST(origin_policy, an_invalid_allowed_origin_is_an_error) {
  EXPECT_THROW((origin_policy{true, {"example.org"}}), std::invalid_argument);
  EXPECT_THROW((origin_policy{true, {"https://example.org/"}}), std::invalid_argument);
  EXPECT_THROW((origin_policy{true, {"https://:443"}}), std::invalid_argument);
}

TEST(origin_policy, switched_off_lets_all_pass) {
  EXPECT_TRUE((origin_policy{false, {}}.allows("null", "example.org")));
}

TEST(origin_policy, with_tls_same_origin_pages_must_use_https) {
  const origin_policy secure{true, {"http://listed.example"}, true};
  EXPECT_TRUE(secure.allows("https://example.org", "example.org"));
  EXPECT_TRUE(secure.allows("https://example.org", "example.org:443"));
  EXPECT_TRUE(secure.allows("https://example.org:8443", "example.org:8443"));
  EXPECT_TRUE(secure.allows("http://listed.example", "example.org"));
  EXPECT_FALSE(secure.allows("http://example.org", "example.org"));
  EXPECT_FALSE(secure.allows("http://example.org:443", "example.org:443"));
  EXPECT_FALSE(secure.allows("https://example.org:8443", "example.org"));
  EXPECT_TRUE(secure.allows("", "example.org"));
}

}  // namespace
}  // namespace troupe::http::detail
