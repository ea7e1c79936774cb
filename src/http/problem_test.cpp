// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include <troupe/http/problem.hpp>

namespace troupe::http {
namespace {

TEST(problem, is_json_with_title_status_and_detail) {
  const response one = problem(404, "there is no account 7");
  EXPECT_EQ(one.status, 404u);
  EXPECT_EQ(one.content_type, "application/problem+json");
  EXPECT_EQ(one.body, R"({"title":"Not Found","status":404,"detail":"there is no account 7"})");
  EXPECT_EQ(problem(500).body, R"({"title":"Internal Server Error","status":500})");
  EXPECT_EQ(problem(409, "x", "Too late").body,
            R"({"title":"Too late","status":409,"detail":"x"})");
}

TEST(problem, escapes_texts_and_replaces_bytes_that_are_not_utf_8) {
  EXPECT_EQ(problem(400, "\"\\\n</script>").body,
            R"({"title":"Bad Request","status":400,"detail":"\"\\\n</script>"})");
  EXPECT_EQ(problem(400, "a\xff\xc3\xa4").body,
            "{\"title\":\"Bad Request\",\"status\":400,\"detail\":\"a\xef\xbf\xbd\xc3\xa4\"}");
}

TEST(request_error, has_the_parts_of_its_response) {
  const request_error error(409, "the account is closed", "Closed");
  EXPECT_EQ(error.status(), 409u);
  EXPECT_EQ(error.detail(), "the account is closed");
  EXPECT_EQ(error.title(), "Closed");
  EXPECT_STREQ(error.what(), "409 Closed: the account is closed");
  EXPECT_EQ(error.to_response().body, problem(409, "the account is closed", "Closed").body);
  EXPECT_STREQ(request_error(404).what(), "404 Not Found");
}

TEST(request_error, has_the_status_of_an_error) {
  EXPECT_THROW(request_error(399), std::logic_error);
  EXPECT_THROW(request_error(600), std::logic_error);
  EXPECT_THROW(request_error(200), std::logic_error);
  EXPECT_NO_THROW(request_error(503));
}

}  // namespace
}  // namespace troupe::http
