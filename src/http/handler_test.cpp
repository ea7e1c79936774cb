// SPDX-License-Identifier: Apache-2.0
// Handlers that are coroutines: they ask actors, and meet everything that can happen meanwhile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <troupe/http/handler.hpp>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

using ::testing::HasSubstr;

static_assert(std::is_constructible_v<handler, response (*)(const request&)>);
static_assert(std::is_constructible_v<handler, task<response> (*)(request)>);
static_assert(std::is_constructible_v<handler, task<response> (*)(const request&)>);
static_assert(!std::is_constructible_v<handler, response (*)(int)>);
static_assert(!std::is_constructible_v<handler, task<int> (*)(request)>);

struct double_it {
  int number;
};
struct never {};
struct give_way {};
struct fail_now {};
struct fill {};

/// Replies in every possible way.
class oracle : public actor {
 public:
  explicit oracle(std::shared_ptr<diary> log) : log_(std::move(log)) {}
  int on(double_it m) { return 2 * m.number; }
  void on(never, reply<int> owed) {
    owed_.push_back(std::move(owed));
    log_->write("asked");
  }
  void on(give_way) {
    for (reply<int>& each : owed_) each.set_value(7);
    owed_.clear();
  }
  int on(fail_now) { throw std::runtime_error("the oracle fails"); }

 private:
  std::shared_ptr<diary> log_;
  std::vector<reply<int>> owed_;
};

/// Never handles anything while the test keeps it busy.
class busy : public actor {
 public:
  explicit busy(std::shared_future<void> until) : until_(std::move(until)) {}
  void on_start() { until_.wait(); }
  int on(double_it m) { return 2 * m.number; }
  void on(fill) {}

 private:
  const std::shared_future<void> until_;
};

/// Writes a line when it is destroyed.
class trace_of_end {
 public:
  explicit trace_of_end(std::shared_ptr<diary> log) : log_(std::move(log)) {}
  trace_of_end(const trace_of_end&) = delete;
  ~trace_of_end() { log_->write("destroyed"); }

 private:
  std::shared_ptr<diary> log_;
};

bool is_refused(std::uint16_t port) {
  try {
    const raw_client probe(port);
    return false;
  } catch (const std::system_error&) {
    return true;
  }
}

std::string post(const std::string& path, const std::string& body) {
  return "POST " + path +
         " HTTP/1.1\r\nHost: here\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

/// Each test runs with coroutines on the connections' thread, and again on the pool.
class http_coroutine : public served, public testing::WithParamInterface<bool> {
 protected:
  http_coroutine() : it_(system_.spawn<oracle>(log_)) {}
  void TearDown() override {
    server_.reset();
    EXPECT_EQ(left_.load(), 0) << "a coroutine has outlived its server";
  }

  [[nodiscard]] route_options where() const {
    route_options how;
    if (GetParam()) how.where = troupe::pool;
    return how;
  }
  void start_with(const std::function<void(http::server&)>& also = {},
                  http::options o = on_free_port()) {
    start(std::move(o), [&](http::server& s) {
      s.route(
          "GET", "/double", [this](request r) -> task<response> { return doubled(std::move(r)); },
          where());
      s.route(
          "GET", "/waits", [this](request r) -> task<response> { return waits(std::move(r)); },
          where());
      s.route(
          "POST", "/echo",
          [this](const request& r) -> task<response> {
            (void)co_await it_.ask<double_it>(patience, 1);
            co_return response::text(r.body());
          },
          where());
      s.route(
          "GET", "/fails",
          [this](request) -> task<response> {
            (void)co_await it_.ask<double_it>(patience, 1);
            throw std::runtime_error("no");
          },
          where());
      s.route(
          "GET", "/impossible", [](request) -> task<response> { co_return response::text("", 99); },
          where());
      s.route("GET", "/plain", [](const request&) { return response::text("plain"); });
      if (also) also(s);
    });
  }

  task<response> doubled(request r) {
    const auto result =
        co_await it_.ask<double_it>(patience, std::stoi(r.parameter("n").value_or("0")));
    if (!result) co_return response::error(503, result.message());
    co_return response::text(std::to_string(*result));
  }
  // Waits until the test lets the oracle reply. Counts itself, also when it is destroyed earlier.
  task<response> waits(request) {
    const trace_of_end end(log_);
    const count_here here(left_);
    const auto result = co_await it_.ask<never>(no_timeout);
    co_return result ? response::text(std::to_string(*result))
                     : response::error(503, result.message());
  }

  struct count_here {
    explicit count_here(std::atomic<int>& of) : of_(of) { ++of_; }
    ~count_here() { --of_; }
    std::atomic<int>& of_;
  };

  std::shared_ptr<diary> log_ = std::make_shared<diary>();
  ref<oracle> it_;
  std::atomic<int> left_{0};
};

INSTANTIATE_TEST_SUITE_P(where, http_coroutine, testing::Bool(), [](const auto& is) {
  return is.param ? "on_the_pool" : "on_the_connections_thread";
});

TEST_P(http_coroutine, asks_an_actor_and_responds) {
  start_with();
  raw_client c = connect();
  for (int i = 0; i < 50; ++i) {
    const answer a = c.get("/double?n=" + std::to_string(i));
    ASSERT_EQ(a.status, 200u);
    ASSERT_EQ(a.body, std::to_string(2 * i));
  }
  EXPECT_EQ(c.get("/plain").body, "plain");
  EXPECT_EQ(statistics().accepted, 1u);
  EXPECT_EQ(statistics().requests, 51u);
  EXPECT_EQ(statistics().handlers, 0u);
}

TEST_P(http_coroutine, runs_where_its_route_says) {
  std::thread::id plain;
  std::thread::id coroutine;
  start_with([&](http::server& s) {
    s.route("GET", "/thread", [&](const request&) {
      plain = std::this_thread::get_id();
      return response{};
    });
    s.route(
        "GET", "/coroutine",
        [&](request) -> task<response> {
          coroutine = std::this_thread::get_id();
          co_return response{};
        },
        where());
  });
  raw_client c = connect();
  (void)c.get("/thread");
  (void)c.get("/coroutine");
  EXPECT_EQ(plain == coroutine, !GetParam());
}

TEST_P(http_coroutine, has_the_request_as_long_as_it_runs) {
  start_with();
  raw_client c = connect();
  const std::string body(100'000, 'x');
  c.send(post("/echo", body));
  EXPECT_EQ(c.read_answer().body, body);
  EXPECT_TRUE(comes_true([&] { return statistics().request_body_bytes == 0; }));
}

TEST_P(http_coroutine, keeps_its_share_of_the_memory_for_bodies_until_it_has_ended) {
  start_with([&](http::server& s) {
    s.route(
        "POST", "/waits", [this](request r) -> task<response> { return waits(std::move(r)); },
        where());
  });
  raw_client c = connect();
  c.send(post("/waits", std::string(100'000, 'x')));
  (void)log_->lines(1);
  EXPECT_GE(statistics().request_body_bytes, 100'000u);
  it_.send(give_way{});
  EXPECT_EQ(c.read_answer().body, "7");
  EXPECT_TRUE(comes_true([&] { return statistics().request_body_bytes == 0; }));
}

TEST_P(http_coroutine, that_fails_is_500_and_the_connection_stays) {
  start_with();
  raw_client c = connect();
  EXPECT_EQ(c.get("/fails").status, 500u);
  EXPECT_EQ(c.get("/impossible").status, 500u);
  EXPECT_EQ(statistics().handler_failures, 2u);
  EXPECT_EQ(c.get("/double?n=4").body, "8");
  EXPECT_EQ(statistics().accepted, 1u);
}

TEST_P(http_coroutine, refuses_a_wrong_parameter_with_400_and_has_not_failed) {
  start_with([&](http::server& s) {
    s.get(
        "/double/{n}",
        [this](request r) -> task<response> {
          const auto result = co_await it_.ask<double_it>(patience, r.path<int>("n"));
          if (!result) throw request_error(503, "no reply");
          co_return response::text(std::to_string(*result));
        },
        where());
  });
  raw_client c = connect();
  EXPECT_EQ(c.get("/double/21").body, "42");
  const answer a = c.get("/double/many");
  EXPECT_EQ(a.status, 400u);
  EXPECT_EQ(a.headers.at("content-type"), "application/problem+json");
  EXPECT_THAT(a.body, HasSubstr("many"));
  EXPECT_EQ(statistics().handler_failures, 0u);
}

TEST_P(http_coroutine, learns_that_the_actor_it_asks_has_failed) {
  start_with([&](http::server& s) {
    s.route(
        "GET", "/ask",
        [this](request) -> task<response> {
          const auto result = co_await it_.ask<fail_now>(patience);
          co_return result ? response::text("replied")
                           : response::error(503, to_string(result.error()));
        },
        where());
  });
  raw_client c = connect();
  const answer a = c.get("/ask");
  EXPECT_EQ(a.status, 503u);
  EXPECT_THAT(a.body, HasSubstr("failed"));
  EXPECT_EQ(c.get("/plain").status, 200u);
}

TEST_P(http_coroutine, responds_to_head_without_the_body) {
  start_with();
  raw_client c = connect();
  c.send("HEAD /double?n=4 HTTP/1.1\r\nHost: here\r\n\r\n");
  const answer a = c.read_answer(false);
  EXPECT_EQ(a.status, 200u);
  EXPECT_EQ(a.headers.at("content-length"), "1");
  EXPECT_EQ(c.get("/plain").body, "plain");
}

TEST_P(http_coroutine, responds_in_the_old_version_and_closes) {
  start_with();
  raw_client c = connect();
  c.send("GET /double?n=4 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(c.read_answer().body, "8");
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_FALSE(c.was_reset());
}

TEST_P(http_coroutine, responses_to_pipelined_requests_keep_their_order) {
  start_with();
  raw_client c = connect();
  std::string all;
  for (int i = 0; i < 200; ++i) {
    all += i % 3 == 2   ? "GET /plain HTTP/1.1\r\nHost: here\r\n\r\n"
           : i % 3 == 1 ? post("/echo", std::to_string(i))
                        : "GET /double?n=" + std::to_string(i) + " HTTP/1.1\r\nHost: here\r\n\r\n";
  }
  c.send(all);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(c.read_answer().body, i % 3 == 2 ? "plain" : std::to_string(i % 3 == 1 ? i : 2 * i));
  }
}

// Requests that are sent ahead stay in a buffer of bounded size and in the socket.
TEST_P(http_coroutine, leaves_what_a_client_sends_ahead_for_later) {
  start_with();
  raw_client c = connect();
  c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
  (void)log_->lines(1);
  std::string all;
  for (int i = 0; i < 2000; ++i) all += post("/echo", std::to_string(i));
  std::thread sender([&] { c.send(all); });
  EXPECT_TRUE(comes_true([&] { return statistics().bytes_in > 16'000; }));
  EXPECT_LT(statistics().bytes_in, 20'000u);
  EXPECT_EQ(statistics().requests, 1u);
  it_.send(give_way{});
  EXPECT_EQ(c.read_answer().body, "7");
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(c.read_answer().body, std::to_string(i));
  sender.join();
}

// The read that watches the client is outstanding when the next request begins.
TEST_P(http_coroutine, may_be_followed_by_a_websocket_that_was_sent_ahead) {
  start_with([](http::server& s) { s.websocket<echo>("/echo"); });
  raw_client c = connect();
  c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
  (void)log_->lines(1);
  c.ask_upgrade("/echo");
  EXPECT_TRUE(comes_true([&] { return statistics().bytes_in > 150; }));
  it_.send(give_way{});
  EXPECT_EQ(c.read_answer().body, "7");
  EXPECT_EQ(c.read_answer(false).status, 101u);
  for (int i = 0; i < 3; ++i) {
    c.say("hello " + std::to_string(i));
    EXPECT_EQ(c.hear(), "hello " + std::to_string(i));
  }
}

TEST_P(http_coroutine, may_be_followed_by_a_request_that_expects_100_continue) {
  start_with();
  raw_client c = connect();
  c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
  (void)log_->lines(1);
  c.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(comes_true([&] { return statistics().bytes_in > 100; }));
  it_.send(give_way{});
  EXPECT_EQ(c.read_answer().body, "7");
  EXPECT_EQ(c.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  c.send("ok");
  EXPECT_EQ(c.read_answer().body, "ok");
}

// As above, with an error, after which the connection lingers.
TEST_P(http_coroutine, may_be_followed_by_a_malformed_request) {
  start_with();
  raw_client c = connect();
  c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
  (void)log_->lines(1);
  c.send("GET /plain HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(comes_true([&] { return statistics().bytes_in > 50; }));
  it_.send(give_way{});
  EXPECT_EQ(c.read_answer().body, "7");
  EXPECT_EQ(c.read_answer().status, 400u);
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_FALSE(c.was_reset());
}

TEST_P(http_coroutine, is_destroyed_when_its_client_disconnects) {
  start_with();
  {
    raw_client c = connect();
    c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
    (void)log_->lines(1);
    EXPECT_EQ(statistics().handlers, 1u);
  }
  EXPECT_THAT(log_->lines(2), testing::ElementsAre("asked", "destroyed"));
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_EQ(statistics().handlers, 0u);
  EXPECT_EQ(statistics().handlers_cancelled, 1u);
  it_.send(give_way{});  // too late: the handler does not exist any more
  EXPECT_EQ(connect().get("/double?n=1").body, "2");
}

TEST_P(http_coroutine, is_destroyed_when_its_client_resets_the_connection) {
  start_with();
  {
    raw_client c = connect();
    c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
    (void)log_->lines(1);
    c.reset();
  }
  EXPECT_THAT(log_->lines(2), testing::ElementsAre("asked", "destroyed"));
  EXPECT_TRUE(comes_true([&] { return statistics().handlers_cancelled == 1; }));
}

TEST_P(http_coroutine, that_takes_too_long_is_destroyed_and_503) {
  start_with([&](http::server& s) {
    route_options how = where();
    how.timeout = 50ms;
    s.route(
        "GET", "/slow", [this](request r) -> task<response> { return waits(std::move(r)); }, how);
  });
  raw_client c = connect();
  const answer a = c.get("/slow");
  EXPECT_EQ(a.status, 503u);
  EXPECT_EQ(a.headers.at("retry-after"), "1");
  EXPECT_THAT(log_->lines(2), testing::ElementsAre("asked", "destroyed"));
  it_.send(give_way{});  // its late reply reaches no later request
  EXPECT_EQ(c.get("/double?n=3").body, "6");
  EXPECT_EQ(statistics().handlers_timed_out, 1u);
  EXPECT_EQ(statistics().handlers, 0u);
  EXPECT_EQ(statistics().accepted, 1u);
}

TEST_P(http_coroutine, times_out_by_the_limits_of_the_server) {
  http::options o = on_free_port();
  o.limits.handler_timeout = 50ms;
  start_with({}, std::move(o));
  EXPECT_EQ(connect().get("/waits").status, 503u);
}

// The actor of the coroutine is suspended at a full mailbox. The time-out counts nevertheless.
TEST_P(http_coroutine, that_waits_for_room_in_a_mailbox_times_out_as_well) {
  std::promise<void> goes_on;
  const auto full =
      system_.spawn<busy>({.where = own_thread, .max_messages = 1}, goes_on.get_future().share());
  start_with([&](http::server& s) {
    route_options how = where();
    how.timeout = 50ms;
    s.route(
        "GET", "/full",
        [this, full](request) -> task<response> {
          const count_here here(left_);
          for (int i = 0; i < 3; ++i) full.send(fill{});
          const auto result = co_await full.ask<double_it>(no_timeout, 1);
          co_return response::text(result ? "replied" : "no reply");
        },
        how);
  });
  raw_client c = connect();
  EXPECT_EQ(c.get("/full").status, 503u);
  EXPECT_EQ(c.get("/plain").status, 200u);
  goes_on.set_value();
  EXPECT_TRUE(comes_true([&] { return left_.load() == 0; }));
}

TEST_P(http_coroutine, is_completed_by_a_drain) {
  start_with();
  raw_client c = connect();
  c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
  (void)log_->lines(1);
  auto drained = std::async(std::launch::async, [&] { return server_->drain(patience); });
  EXPECT_TRUE(comes_true([&] { return is_refused(server_->port()); }));
  it_.send(give_way{});
  const answer a = c.read_answer();
  EXPECT_EQ(a.body, "7");
  EXPECT_EQ(a.headers.at("connection"), "close");
  EXPECT_TRUE(drained.get());
  EXPECT_EQ(left_.load(), 0);
}

TEST_P(http_coroutine, is_destroyed_before_stop_returns) {
  start_with();
  raw_client c = connect();
  c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
  (void)log_->lines(1);
  server_->stop();
  EXPECT_EQ(left_.load(), 0);
  EXPECT_EQ(statistics().handlers, 0u);
}

TEST_P(http_coroutine, that_a_drain_cannot_wait_for_is_destroyed) {
  start_with();
  raw_client c = connect();
  c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
  (void)log_->lines(1);
  EXPECT_FALSE(server_->drain(20ms));
  EXPECT_EQ(left_.load(), 0);
}

TEST_P(http_coroutine, ends_with_its_system) {
  start_with();
  raw_client c = connect();
  c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
  (void)log_->lines(1);
  system_.shutdown(patience);
  EXPECT_EQ(left_.load(), 0);
}

TEST_P(http_coroutine, serves_many_clients_at_once) {
  start_with();
  constexpr int clients = 50;
  std::vector<raw_client> all;
  for (int i = 0; i < clients; ++i) all.push_back(connect());
  for (raw_client& c : all) c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
  (void)log_->lines(clients);
  EXPECT_EQ(statistics().handlers, static_cast<std::uint64_t>(clients));
  EXPECT_EQ(connect().get("/double?n=2").body, "4");  // no handler blocks a thread
  it_.send(give_way{});
  for (raw_client& c : all) EXPECT_EQ(c.read_answer().body, "7");
}

TEST_P(http_coroutine, writes_its_response_and_a_client_that_has_gone_into_the_access_log) {
  http::options o = on_free_port();
  const auto seen = std::make_shared<diary>();
  o.on_access = [seen](const access& a) {
    if (a.what == access::kind::request) {
      seen->write(std::string{a.target} + ' ' + std::to_string(a.status));
    }
  };
  start_with({}, std::move(o));
  EXPECT_EQ(connect().get("/double?n=2").status, 200u);
  (void)seen->lines(1);
  {
    raw_client c = connect();
    c.send("GET /waits HTTP/1.1\r\nHost: here\r\n\r\n");
    (void)log_->lines(1);
  }
  EXPECT_THAT(seen->lines(2), testing::ElementsAre("/double?n=2 200", "/waits 499"));
}

TEST_P(http_coroutine, needs_a_positive_timeout) {
  route_options how = where();
  how.timeout = 0ms;
  http::server s(system_, on_free_port());
  EXPECT_THROW(s.route(
                   "GET", "/", [](request) -> task<response> { co_return response{}; }, how),
               std::invalid_argument);
}

}  // namespace
}  // namespace troupe::http::test
