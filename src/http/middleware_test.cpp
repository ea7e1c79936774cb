// SPDX-License-Identifier: Apache-2.0
#include <troupe/http/middleware.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/http/problem.hpp>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Writes its name before and after the rest.
middleware writes(std::shared_ptr<diary> log, std::string name) {
  return [log, name](request r, next_handler next) -> task<response> {
    log->write("before " + name);
    response made = co_await next(std::move(r));
    log->write("after " + name + ' ' + std::to_string(made.status));
    co_return made;
  };
}

struct is_allowed {
  std::string who;
};

/// Decides by name. A request for "forgotten" gets no reply.
class guard : public actor {
 public:
  explicit guard(std::shared_ptr<diary> log) : log_(std::move(log)) {}
  void on(const is_allowed& m, reply<bool> to) {
    log_->write("asked for " + m.who);
    if (m.who == "forgotten") {
      kept_.push_back(std::move(to));
    } else {
      to.set_value(m.who == "anna");
    }
  }

 private:
  std::shared_ptr<diary> log_;
  std::vector<reply<bool>> kept_;
};

class with_middleware : public served {
 protected:
  answer get(const std::string& path, const std::string& headers = {}) {
    return connect().get(path, headers);
  }

  std::shared_ptr<diary> log_ = std::make_shared<diary>();
};

TEST_F(with_middleware, the_first_one_is_the_outermost_and_only_later_routes_have_it) {
  start(on_free_port(), [&](http::server& s) {
    s.get("/before", [](const request&) { return response::text("b"); });
    s.use(writes(log_, "first"));
    s.use(writes(log_, "second"));
    s.get("/plain", [&](const request&) {
      log_->write("handler");
      return response::text("p", 202);
    });
    s.get("/coroutine", [&](request) -> task<response> {
      log_->write("coroutine");
      co_return response::text("c", 203);
    });
    s.health("/healthz");
    s.resource("/page", "text/html", "<html>");
  });
  for (const char* path : {"/before", "/healthz", "/page"}) EXPECT_EQ(get(path).status, 200u);
  EXPECT_EQ(get("/nowhere").status, 404u);
  EXPECT_EQ(log_->size(), 0u);
  EXPECT_EQ(get("/plain").body, "p");
  EXPECT_EQ(get("/coroutine").body, "c");
  EXPECT_THAT(log_->lines(10),
              ElementsAre("before first", "before second", "handler", "after second 202",
                          "after first 202", "before first", "before second", "coroutine",
                          "after second 203", "after first 203"));
}

TEST_F(with_middleware, that_of_a_mounted_set_is_inside_that_of_the_server) {
  http::routes inner;
  inner.use(writes(log_, "inner"));
  inner.get("/{n}", [](const request& r) { return response::text(std::string(r.path<>("n"))); });
  start(on_free_port(), [&](http::server& s) {
    s.use(writes(log_, "outer"));
    s.mount("/a", inner);
  });
  EXPECT_EQ(get("/a/7").body, "7");
  EXPECT_THAT(log_->lines(4),
              ElementsAre("before outer", "before inner", "after inner 200", "after outer 200"));
}

TEST_F(with_middleware, can_refuse_change_and_attach) {
  struct identity {
    std::string name;
  };
  start(on_free_port(), [&](http::server& s) {
    s.use([](request r, next_handler next) -> task<response> {
      const std::string name{r.header("X-Name")};
      if (name.empty()) co_return problem(403, "X-Name is missing");
      r.attach(identity{"forgotten"});
      r.attach(identity{name});
      response made = co_await next(std::move(r));
      made.headers.emplace_back("X-Seen", "yes");
      co_return made;
    });
    s.get("/who", [](const request& r) {
      EXPECT_EQ(r.attached<int>(), nullptr);
      return response::text(r.attached<identity>()->name);
    });
  });
  EXPECT_EQ(get("/who").status, 403u);
  const answer a = get("/who", "X-Name: anna\r\n");
  EXPECT_EQ(a.body, "anna");
  EXPECT_EQ(a.headers.at("x-seen"), "yes");
}

TEST_F(with_middleware, sees_errors_of_clients_as_responses_and_failures_as_exceptions) {
  start(on_free_port(), [&](http::server& s) {
    s.use([&](request r, next_handler next) -> task<response> {
      const bool recovers = r.has_header("X-Recover");
      bool failed = false;
      try {
        response made = co_await next(std::move(r));
        log_->write(std::to_string(made.status));
        co_return made;
      } catch (const std::runtime_error& e) {
        log_->write(e.what());
        if (!recovers) throw;
        failed = true;
      }
      co_return response::text(failed ? "recovered" : "");
    });
    s.get("/wrong/{n}",
          [](const request& r) { return response::text(std::to_string(r.path<int>("n"))); });
    s.get("/fails", [](request) -> task<response> {
      throw std::runtime_error("broken");
      co_return response{};
    });
  });
  EXPECT_EQ(get("/wrong/x").status, 400u);
  EXPECT_EQ(get("/fails").status, 500u);
  EXPECT_EQ(get("/fails", "X-Recover: 1\r\n").body, "recovered");
  EXPECT_THAT(log_->lines(3), ElementsAre("400", "broken", "broken"));
  EXPECT_EQ(statistics().handler_failures, 1u);
}

TEST_F(with_middleware, counts_towards_the_time_limit_and_ends_with_its_client) {
  const auto it = system_.spawn<guard>(log_);
  start(on_free_port(), [&](http::server& s) {
    s.use([it](request r, next_handler next) -> task<response> {
      (void)co_await it.ask<is_allowed>(no_timeout, std::string("forgotten"));
      co_return co_await next(std::move(r));
    });
    s.get("/soon", [](const request&) { return response{}; }, {.timeout = 30ms});
    s.get("/late", [](const request&) { return response{}; });
  });
  EXPECT_EQ(get("/soon").status, 503u);
  {
    raw_client c = connect();
    c.send("GET /late HTTP/1.1\r\nHost: here\r\n\r\n");
    (void)log_->lines(2);
  }
  EXPECT_TRUE(comes_true([&] { return statistics().handlers_cancelled == 1; }));
}

TEST_F(with_middleware, a_request_gets_an_identifier) {
  start(on_free_port(), [](http::server& s) {
    s.use(identify_requests());
    s.get("/id", [](const request& r) { return response::text(r.attached<request_id>()->value); });
  });
  const answer made = get("/id");
  EXPECT_EQ(made.body.size(), 32u);
  EXPECT_EQ(made.headers.at("x-request-id"), made.body);
  EXPECT_NE(get("/id").body, made.body);
  const answer kept = get("/id", "X-Request-Id: a-b_c.9\r\n");
  EXPECT_EQ(kept.body, "a-b_c.9");
  EXPECT_EQ(kept.headers.at("x-request-id"), "a-b_c.9");
  EXPECT_EQ(get("/id", "X-Request-Id: a b\r\n").body.size(), 32u);
  EXPECT_EQ(get("/id", "X-Request-Id: " + std::string(129, 'x') + "\r\n").body.size(), 32u);
}

TEST_F(with_middleware, responses_get_security_headers_that_they_do_not_have) {
  start(on_free_port(), [](http::server& s) {
    s.use(secure_responses({.referrer_policy = ""}));
    s.get("/usual", [](const request&) { return response{}; });
    s.get("/framed", [](const request&) {
      response r;
      r.headers.emplace_back("x-frame-options", "SAMEORIGIN");
      return r;
    });
  });
  const answer usual = get("/usual");
  EXPECT_EQ(usual.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(usual.headers.at("x-frame-options"), "DENY");
  EXPECT_THAT(usual.headers.at("content-security-policy"), HasSubstr("default-src 'self'"));
  EXPECT_FALSE(usual.headers.contains("referrer-policy"));
  EXPECT_FALSE(usual.headers.contains("strict-transport-security"));  // not over TLS
  EXPECT_EQ(get("/framed").headers.at("x-frame-options"), "SAMEORIGIN");
}

TEST_F(with_middleware, basic_authentication_asks_for_credentials) {
  const auto it = system_.spawn<guard>(log_);
  start(on_free_port(), [&](http::server& s) {
    s.use(basic_authentication("bank", [it](const basic_credentials& who) -> task<bool> {
      if (!is_same_secret(who.password, "pass:word")) co_return false;
      const auto allowed = co_await it.ask<is_allowed>(patience, who.user);
      co_return allowed&&* allowed;
    }));
    s.get("/me",
          [](const request& r) { return response::text(r.attached<basic_credentials>()->user); });
  });
  const answer none = get("/me");
  EXPECT_EQ(none.status, 401u);
  EXPECT_EQ(none.headers.at("www-authenticate"), "Basic realm=\"bank\"");
  // anna:pass:word, otto:pass:word, anna:pass
  EXPECT_EQ(get("/me", "Authorization: Basic YW5uYTpwYXNzOndvcmQ=\r\n").body, "anna");
  EXPECT_EQ(get("/me", "authorization: bAsIc   YW5uYTpwYXNzOndvcmQ=\r\n").body, "anna");
  for (const char* wrong :
       {"Basic b3R0bzpwYXNzOndvcmQ=", "Basic YW5uYTpwYXNz", "Basic YW5uYTpwYXNzOndvcmQ",
        "Basic YW5uYTpwYXNzOndvcmQ=x", "Basic YW5u YTpwYXNzOndvcmQ=", "Basic =", "Basic", "Basic ",
        "Basic YW5uYQ==", "Basicx YW5uYTpwYXNzOndvcmQ=", "Bearer YW5uYTpwYXNzOndvcmQ=",
        "Basic Y===", "Basic ====", "Basic YW5uYTpwYXNzOndvcm==", "Basic YW5uYTpwYXNzOndvcmQK"}) {
    EXPECT_EQ(get("/me", std::string("Authorization: ") + wrong + "\r\n").status, 401u) << wrong;
  }
}

TEST_F(with_middleware, bearer_authentication_asks_for_a_token) {
  start(on_free_port(), [&](http::server& s) {
    s.use(bearer_authentication("bank", [](const bearer_token& token) -> task<bool> {
      co_return is_same_secret(token.value, "abc.DEF-1");
    }));
    s.get("/me",
          [](const request& r) { return response::text(r.attached<bearer_token>()->value); });
  });
  EXPECT_EQ(get("/me").headers.at("www-authenticate"), "Bearer realm=\"bank\"");
  EXPECT_EQ(get("/me", "Authorization: Bearer abc.DEF-1\r\n").body, "abc.DEF-1");
  for (const char* wrong :
       {"Bearer abc", "Bearer abc.DEF-1 x", "Bearer \"abc\"", "Basic abc.DEF-1",
        "Bearer =", "Bearer a=b", "Bearer abc.DEF-1\r\nAuthorization: Bearer abc.DEF-1"}) {
    EXPECT_EQ(get("/me", std::string("Authorization: ") + wrong + "\r\n").status, 401u) << wrong;
  }
}

TEST(authentication, refuses_a_realm_that_a_header_cannot_have) {
  for (const char* realm : {"a\"b", "a\\b", "a\r\nb", "\xc3\xa4"}) {
    EXPECT_THROW((void)basic_authentication(realm, {}), std::invalid_argument) << realm;
    EXPECT_THROW((void)bearer_authentication(realm, {}), std::invalid_argument) << realm;
  }
}

TEST(is_same_secret, compares_whole_texts) {
  EXPECT_TRUE(is_same_secret("", ""));
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  EXPECT_FALSE(is_same_secret("abc", "abd"));
  EXPECT_FALSE(is_same_secret("abc", "ab"));
}

}  // namespace
}  // namespace troupe::http::test
