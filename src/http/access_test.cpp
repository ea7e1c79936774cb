// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

using testing::ElementsAre;

class access_log : public served {
 protected:
  // For each access: what it was, and the figures that are the same in each run.
  void SetUp() override {
    http::options o = on_free_port();
    o.limits.header_bytes = 1024;
    o.on_access = [told = told_](const access& one) {
      const bool in_time = one.took.count() >= 0 && one.took < patience;
      told->write(std::string(one.what == access::kind::request ? "request " : "websocket ") +
                  std::string(one.peer) + " " + std::string(one.method) + " " +
                  std::string(one.target) + " " + std::to_string(one.status) +
                  (one.bytes == 0   ? " empty"
                   : one.bytes == 5 ? " five"
                                    : " some") +
                  (in_time ? "" : " out of time"));
    };
    start(o, [](http::server& s) {
      s.route("GET", "/hello", [](const request&) { return response::text("hello\n"); });
      s.websocket<echo>("/echo");
    });
  }

  std::shared_ptr<diary> told_ = std::make_shared<diary>();
};

TEST_F(access_log, requests_are_logged_in_order_after_the_response) {
  raw_client c = connect();
  c.get("/hello?a=b");
  c.get("/none");
  c.send("HEAD /hello HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(told_->lines(3), ElementsAre("request 127.0.0.1 GET /hello?a=b 200 some",
                                           "request 127.0.0.1 GET /none 404 some",
                                           "request 127.0.0.1 HEAD /hello 200 some"));
}

TEST_F(access_log, a_request_refused_while_parsing_is_logged_without_a_method) {
  raw_client c = connect();
  c.get("/hello");
  c.send("GET / HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
  EXPECT_THAT(told_->lines(2),
              ElementsAre("request 127.0.0.1 GET /hello 200 some", "request 127.0.0.1   431 some"));
}

TEST_F(access_log, a_websocket_is_logged_when_it_opens_and_when_it_closes) {
  {
    raw_client c = open("/echo?room=1");
    c.say("12345");
    EXPECT_EQ(c.hear(), "12345");
    EXPECT_THAT(told_->lines(1), ElementsAre("request 127.0.0.1 GET /echo?room=1 101 empty"));
  }
  EXPECT_THAT(told_->lines(2), ElementsAre("request 127.0.0.1 GET /echo?room=1 101 empty",
                                           "websocket 127.0.0.1 GET /echo?room=1 1006 five"));
}

}  // namespace
}  // namespace troupe::http::test
