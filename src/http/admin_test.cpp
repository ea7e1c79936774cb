// SPDX-License-Identifier: Apache-2.0

// Metrics and health checks: how they are made, and listeners for them alone.

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// ── How a text is made ────────────────────────────────────────────────────────────────────────

/// Figures that are not there until the test lets them.
struct held_figures {
  std::atomic<int> asked{0};
  std::counting_semaphore<> let{0};

  figure_source source() {
    return [this] {
      const int which = ++asked;
      let.acquire();
      return std::vector<figure_family>{
          {.name = "times", .help = "", .figures = {{.value = static_cast<double>(which)}}}};
    };
  }
};

class making_metrics : public served {
 protected:
  ~making_metrics() override { figures_.let.release(1000); }

  void serve(http::options o = on_free_port()) {
    start(std::move(o), [this](http::server& s) {
      s.metrics("/metrics", figures_.source());
      s.health();
    });
  }
  static void ask(raw_client& by) { by.send("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n"); }
  /// When this is over, the loop has done all that it had to do before.
  void settle() const { ASSERT_EQ(connect().get("/healthz").status, 200u); }

  held_figures figures_;
};

TEST_F(making_metrics, does_not_delay_other_clients) {
  serve();
  raw_client scraper = connect();
  ask(scraper);
  ASSERT_TRUE(comes_true([&] { return figures_.asked == 1; }));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(connect().get("/healthz").body, "ok\n");
  EXPECT_FALSE(scraper.readable_within(0ms));
  figures_.let.release();
  EXPECT_THAT(scraper.read_answer().body, HasSubstr("\ntimes 1\n"));
}

TEST_F(making_metrics, clients_that_ask_at_the_same_time_share_one_text) {
  serve();
  raw_client first = connect();
  ask(first);
  ASSERT_TRUE(comes_true([&] { return figures_.asked == 1; }));
  std::vector<raw_client> others;
  for (int i = 0; i < 8; ++i) ask(others.emplace_back(connect()));
  ASSERT_TRUE(comes_true([&] { return statistics().requests == 9; }));
  settle();  // so all of them wait
  figures_.let.release(2);
  EXPECT_THAT(first.read_answer().body, HasSubstr("\ntimes 1\n"));
  const std::string text = others.front().read_answer().body;
  EXPECT_THAT(text, HasSubstr("\ntimes 2\n"));
  for (std::size_t i = 1; i < others.size(); ++i) EXPECT_EQ(others[i].read_answer().body, text);
  EXPECT_EQ(figures_.asked, 2);
}

TEST_F(making_metrics, has_a_time_limit_and_what_comes_later_is_not_used) {
  http::options o = on_free_port();
  o.limits.request_timeout = 50ms;
  serve(o);
  raw_client late = connect();
  ask(late);
  const answer none = late.read_answer();
  EXPECT_EQ(none.status, 503u);
  EXPECT_THAT(none.body, HasSubstr("the metrics were not made in time"));
  EXPECT_EQ(none.headers.at("connection"), "close");
  EXPECT_EQ(statistics().requests_timed_out, 1u);
  figures_.let.release(2);
  late.half_close();
  EXPECT_EQ(late.read_to_end(), "");
  EXPECT_THAT(connect().get("/metrics").body, HasSubstr("\ntimes 2\n"));
}

TEST_F(making_metrics, responds_in_the_order_of_the_requests) {
  serve();
  figures_.let.release(2);
  raw_client c = connect();
  c.send(
      "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\nGET /healthz HTTP/1.1\r\nHost: here\r\n\r\n"
      "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_THAT(c.read_answer().body, HasSubstr("\ntimes 1\n"));
  EXPECT_EQ(c.read_answer().body, "ok\n");
  EXPECT_THAT(c.read_answer().body, HasSubstr("\ntimes 2\n"));
}

TEST_F(making_metrics, goes_on_in_a_drain_and_the_connection_closes_then) {
  serve();
  raw_client c = connect();
  ask(c);
  ASSERT_TRUE(comes_true([&] { return figures_.asked == 1; }));
  bool drained = false;
  {
    const std::jthread draining([&] { drained = server_->drain(30s); });
    ASSERT_TRUE(comes_true([&] {
      try {
        connect();
        return false;
      } catch (const std::system_error&) {
        return true;
      }
    }));
    figures_.let.release();
    const answer a = c.read_answer();
    EXPECT_EQ(a.status, 200u);
    EXPECT_EQ(a.headers.at("connection"), "close");
  }
  EXPECT_TRUE(drained);
}

TEST_F(making_metrics, is_over_when_the_server_has_stopped) {
  serve();
  raw_client c = connect();
  ask(c);
  ASSERT_TRUE(comes_true([&] { return figures_.asked == 1; }));
  {
    const std::jthread stopping([&] { server_->stop(); });
    EXPECT_EQ(c.read_to_end(), "");
    figures_.let.release();  // stop() waits for a source that has been called
  }
  server_.reset();
  EXPECT_EQ(figures_.asked, 1);
}

TEST_F(making_metrics, survives_a_client_that_has_gone) {
  serve();
  {
    raw_client c = connect();
    ask(c);
    ASSERT_TRUE(comes_true([&] { return figures_.asked == 1; }));
    c.reset();
  }
  figures_.let.release(2);
  EXPECT_THAT(connect().get("/metrics").body, HasSubstr("\ntimes 2\n"));
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

TEST_F(making_metrics, is_refused_when_the_system_has_been_shut_down_and_the_server_ends) {
  serve();
  figures_.let.release(1);
  EXPECT_EQ(connect().get("/metrics").status, 200u);
  (void)system_.shutdown(30s);
  server_.reset();
}

TEST_F(making_metrics, supports_head_and_names_the_allowed_methods) {
  serve();
  figures_.let.release(2);
  raw_client c = connect();
  c.send("HEAD /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
  const answer head = c.read_answer(false);
  EXPECT_EQ(head.status, 200u);
  EXPECT_GT(std::stoul(head.headers.at("content-length")), 1'000u);
  c.send("POST /metrics HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n");
  const answer wrong = c.read_answer();
  EXPECT_EQ(wrong.status, 405u);
  EXPECT_EQ(wrong.headers.at("allow"), "GET, HEAD, OPTIONS");
}

using metrics_limits = served;

TEST_F(metrics_limits, a_source_that_throws_fails_one_request) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  start(on_free_port(), [&](http::server& s) {
    s.metrics("/metrics", [calls]() -> std::vector<figure_family> {
      if (++*calls == 1) throw std::runtime_error("as told");
      return {};
    });
  });
  raw_client failing = connect();
  EXPECT_EQ(failing.get("/metrics").status, 500u);
  EXPECT_EQ(statistics().handler_failures, 1u);
  EXPECT_EQ(connect().get("/metrics").status, 200u);
}

std::vector<figure_family> large_family(std::size_t figures) {
  figure_family large{.name = "large", .help = "", .figures = {}};
  for (std::size_t i = 0; i < figures; ++i) {
    large.figures.push_back({.labels = {{"n", std::to_string(i)}}, .value = 1});
  }
  return {large, {.name = "small", .help = "", .figures = {{.value = 7}}}};
}

TEST_F(metrics_limits, families_beyond_the_size_of_the_text_are_omitted_and_counted) {
  http::options o = on_free_port();
  o.limits.metrics_bytes = 30'000;
  std::atomic<std::size_t> figures{10};
  start(o, [&](http::server& s) { s.metrics("/metrics", [&] { return large_family(figures); }); });
  raw_client c = connect();
  std::string text = c.get("/metrics").body;
  EXPECT_THAT(text, HasSubstr("\nlarge{n=\"9\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nsmall 7\n"));
  EXPECT_THAT(text, HasSubstr("\ntroupe_metrics_omitted_families 0\n"));
  for (const std::size_t many : {1'800u, 100'000u}) {
    figures = many;
    text = c.get("/metrics").body;
    EXPECT_LE(text.size(), 30'000u);
    EXPECT_THAT(text, Not(HasSubstr("\nlarge")));
    EXPECT_THAT(text, HasSubstr("\nsmall 7\n"));
    EXPECT_THAT(text, HasSubstr("\ntroupe_metrics_omitted_families 1\n"));
  }
}

TEST_F(metrics_limits, a_slow_scraper_delays_nobody_and_is_disconnected) {
  http::options o = on_free_port();
  o.limits.idle_timeout = 200ms;
  o.limits.metrics_bytes = 64 * 1024 * 1024;
  start(o, [&](http::server& s) {
    s.metrics("/metrics", [] { return large_family(400'000); });
    s.health();
  });
  raw_client slow(server_->port(), 4096);
  slow.send("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
  ASSERT_TRUE(comes_true([&] { return statistics().bytes_out > 0; }));
  EXPECT_EQ(connect().get("/healthz").body, "ok\n");
  EXPECT_GT(connect().get("/metrics").body.size(), 4'000'000u);
  EXPECT_TRUE(comes_true([&] { return statistics().idle_closed >= 1; }));
}

TEST_F(metrics_limits, a_path_has_one_meaning) {
  http::server s(system_, on_free_port());
  s.metrics();
  EXPECT_THROW(s.metrics(), std::invalid_argument);
  const auto any = [](const request&) { return response::text(""); };
  EXPECT_THROW(s.route("GET", "/metrics", any), std::invalid_argument);
  EXPECT_THROW(s.resource("/metrics", "text/plain", "x"), std::invalid_argument);
  s.route("POST", "/metrics", any);
  s.route("GET", "/taken", any);
  EXPECT_THROW(s.metrics("/taken"), std::invalid_argument);
  EXPECT_THROW(s.metrics("no/slash"), std::invalid_argument);
}

// ── A listener for operators ──────────────────────────────────────────────────────────────────

class admin_listener : public served {
 protected:
  /// `admin_` shows what `server_` does.
  void serve() {
    start(on_free_port(), [](http::server& s) { s.websocket<echo>("/echo"); });
    admin_.emplace(system_, admin_options("127.0.0.1:0"));
    admin_->metrics_of(*server_);
    admin_->health_of(*server_);
    admin_->start();
  }
  answer ask_admin(const std::string& path) const { return raw_client(admin_->port()).get(path); }

  std::optional<http::server> admin_;
};

TEST_F(admin_listener, shows_the_metrics_of_another_server) {
  serve();
  raw_client socket = open("/echo");
  const std::string text = ask_admin("/metrics").body;
  EXPECT_THAT(text, HasSubstr("\ntroupe_http_websockets 1\n"));
  EXPECT_THAT(text, HasSubstr("\ntroupe_http_requests_total 1\n"));
  EXPECT_EQ(ask_admin("/healthz").body, "ok\n");
  EXPECT_EQ(connect().get("/metrics").status, 404u);
  EXPECT_EQ(connect().get("/healthz").status, 404u);
}

TEST_F(admin_listener, serves_while_the_other_server_drains_and_after_it) {
  serve();
  raw_client socket = open("/echo");
  {
    bool drained = false;
    const std::jthread draining([&] { drained = server_->drain(30s); });
    EXPECT_EQ(socket.read_close().code(), 1001u);
    EXPECT_EQ(ask_admin("/healthz").status, 503u);
    EXPECT_THAT(ask_admin("/metrics").body, HasSubstr("\ntroupe_http_websockets "));
    socket.hang_up();
  }
  EXPECT_EQ(ask_admin("/healthz").body, "draining\n");
  EXPECT_EQ(ask_admin("/metrics").status, 200u);
  server_.reset();
  EXPECT_EQ(ask_admin("/healthz").status, 503u);
  EXPECT_EQ(ask_admin("/metrics").status, 500u);
  EXPECT_TRUE(admin_->drain(30s));
}

TEST_F(admin_listener, has_few_connections_and_the_others_are_told) {
  serve();
  std::vector<raw_client> all;
  for (std::size_t i = 0; i < admin_options().limits.connections_max; ++i) {
    all.emplace_back(admin_->port());
    ASSERT_EQ(all.back().get("/healthz").status, 200u);
  }
  EXPECT_EQ(raw_client(admin_->port()).read_answer().status, 503u);
  EXPECT_EQ(connect().get("/").status, 404u) << "clients of the other server are not affected";
}

TEST_F(admin_listener, a_port_that_is_taken_is_named) {
  serve();
  http::server second(system_, admin_options("127.0.0.1:" + std::to_string(admin_->port())));
  try {
    second.start();
    FAIL() << "both listen";
  } catch (const std::system_error& why) {
    EXPECT_EQ(std::string(why.what()),
              "cannot listen on 127.0.0.1:" + std::to_string(admin_->port()) +
                  ": Address already in use");
  }
}

// The owner of evil.example makes the name resolve to this server after its page was loaded.
TEST_F(admin_listener, a_web_page_cannot_read_it_through_dns_rebinding) {
  serve();
  for (const char* path : {"/metrics", "/healthz", "/", "*"}) {
    raw_client c(admin_->port());
    c.send("OPTIONS " + std::string(path) + " HTTP/1.1\r\nHost: Evil.example:9180\r\n\r\n");
    EXPECT_EQ(c.read_answer().status, 421u) << path;
    c.send("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    const answer got = c.read_answer();
    EXPECT_EQ(got.status, 421u);
    EXPECT_EQ(got.body,
              "421 Misdirected Request: \"evil.example\" is not a host name of this server\n");
    c.send("GET /healthz HTTP/1.1\r\nHost: localhost:9180\r\n\r\n");
    EXPECT_EQ(c.read_answer().status, 200u) << "the connection stays usable";
  }
  EXPECT_EQ(admin_->statistics().refused_host, 8u);
  raw_client public_one = connect();
  public_one.send("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(public_one.read_answer().status, 404u) << "only the listener for operators checks it";
}

TEST_F(admin_listener, responds_to_its_addresses_and_configured_names) {
  start(on_free_port(), [](http::server&) {});
  http::options o = admin_options("localhost:0");
  o.host_names = {"admin.internal"};
  admin_.emplace(system_, o);
  admin_->health_of(*server_);
  admin_->start();
  raw_client c(admin_->port());
  for (const char* host : {"127.0.0.1:9180", "[::1]", "localhost", "Admin.internal:80", ""}) {
    c.send("GET /healthz HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n");
    EXPECT_EQ(c.read_answer().status, 200u) << host;
  }
  c.send("GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(c.read_answer().status, 200u);
}

TEST_F(admin_listener, the_body_for_an_unknown_host_is_not_read) {
  start(on_free_port(), [](http::server&) {});
  admin_.emplace(system_, admin_options("127.0.0.1:0"));
  admin_->route("POST", "/", [](const request&) { return response::text("read"); });
  admin_->start();
  raw_client c(admin_->port());
  c.send("POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 500\r\n\r\n");
  const answer got = c.read_answer();
  EXPECT_EQ(got.status, 421u);
  EXPECT_EQ(got.headers.at("connection"), "close");
}

TEST_F(admin_listener, a_host_name_that_could_never_match_is_refused) {
  http::options o = admin_options("127.0.0.1:0");
  o.host_names = {"admin.internal:9180"};
  EXPECT_THROW(http::server(system_, o), std::invalid_argument);
}

TEST(admin_options, read_an_address_with_a_port) {
  EXPECT_EQ(admin_options().address, "127.0.0.1");
  EXPECT_EQ(admin_options().port, 9180);
  EXPECT_EQ(admin_options("[::1]:80").address, "::1");
  EXPECT_EQ(admin_options("[::1]:80").port, 80);
  EXPECT_EQ(admin_options("localhost:0").address, "localhost");
  EXPECT_EQ(admin_options("unix:/run/a b:c").address, "unix:/run/a b:c");
  for (const char* wrong :
       {"", "9180", ":9180", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
        "127.0.0.1:-1", "127.0.0.1:80 ", "::1:80", "::1", "[]:80", "unix:", "off"}) {
    EXPECT_THROW((void)admin_options(wrong), std::invalid_argument) << wrong;
  }
}

// ── On a Unix socket ──────────────────────────────────────────────────────────────────────────

class unix_listener : public served {
 protected:
  unix_listener() {
    std::string name = (fs::temp_directory_path() / "troupe-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ / "http";
  }
  ~unix_listener() override {
    server_.reset();
    fs::remove_all(folder_);
  }
  void serve() {
    start(admin_options("unix:" + path_.string()), [](http::server& s) {
      s.metrics();
      s.route("GET", "/peer",
              [](const request& r) { return response::text(std::string(r.peer())); });
      s.websocket<echo>("/echo");
    });
  }
  raw_client connect_unix(const fs::path& from = {}) const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = [](const fs::path& of) {
      sockaddr_un at{};
      at.sun_family = AF_UNIX;
      std::strncpy(at.sun_path, of.c_str(), sizeof at.sun_path - 1);
      return at;
    };
    if (!from.empty()) {
      const sockaddr_un own = address(from);
      EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    }
    const sockaddr_un to = address(path_);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return raw_client(raw_client::accepted{fd});
  }

  fs::path folder_, path_;
};

TEST_F(unix_listener, serves_http_and_websockets_to_its_user_alone) {
  serve();
  struct ::stat there {};
  ASSERT_EQ(::lstat(path_.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777, 0600u);
  EXPECT_EQ(server_->port(), 0);
  raw_client c = connect_unix();
  EXPECT_EQ(c.get("/peer").body, "unix");
  EXPECT_THAT(c.get("/metrics").body, HasSubstr("\ntroupe_http_connections 1\n"));
  raw_client socket = connect_unix();
  EXPECT_EQ(socket.upgrade("/echo").status, 101u);
  socket.say("hello");
  EXPECT_EQ(socket.hear(), "hello");
}

// Its name is longer than an address of IP can be.
TEST_F(unix_listener, serves_a_client_that_has_a_name) {
  serve();
  EXPECT_EQ(connect_unix(folder_ / std::string(60, 'c')).get("/peer").body, "unix");
}

TEST_F(unix_listener, its_clients_count_as_one_address) {
  http::options o = admin_options("unix:" + path_.string());
  o.limits.connections_per_address_max = 1;
  start(o, [](http::server& s) { s.health(); });
  raw_client one = connect_unix();
  EXPECT_EQ(one.get("/healthz").status, 200u);
  EXPECT_EQ(connect_unix().read_answer().status, 503u);
  EXPECT_EQ(statistics().refused_per_address, 1u);
}

// As nginx or curl send it. A web page cannot connect to the socket.
TEST_F(unix_listener, responds_for_every_host) {
  serve();
  raw_client c = connect_unix();
  c.send("GET /peer HTTP/1.1\r\nHost: any.example\r\n\r\n");
  EXPECT_EQ(c.read_answer().body, "unix");
}

TEST_F(unix_listener, its_clients_have_one_rate_and_none_of_them_is_a_proxy) {
  http::options o = admin_options("unix:" + path_.string());
  o.limits.requests_per_second = 1;
  o.limits.requests_burst = 1;
  start(o, [](http::server& s) { s.health(); });
  EXPECT_EQ(connect_unix().get("/healthz").status, 200u);
  EXPECT_EQ(connect_unix().get("/healthz").status, 429u);
  o.trusted_proxies = {"10.0.0.0/8"};
  EXPECT_THROW(http::server(system_, o), std::invalid_argument);
}

TEST_F(unix_listener, removes_its_file_at_the_end_of_a_drain_and_of_stop) {
  serve();
  EXPECT_TRUE(server_->drain(30s));
  EXPECT_FALSE(fs::exists(fs::symlink_status(path_)));
  serve();
  EXPECT_TRUE(fs::exists(path_));
  server_->stop();
  EXPECT_FALSE(fs::exists(fs::symlink_status(path_)));
}

TEST_F(unix_listener, a_file_in_use_is_named) {
  serve();
  http::server second(system_, admin_options("unix:" + path_.string()));
  try {
    second.start();
    FAIL() << "both listen";
  } catch (const std::system_error& why) {
    EXPECT_THAT(why.what(), HasSubstr("cannot listen on the Unix socket '" + path_.string() +
                                      "': Address already in use"));
  }
  EXPECT_EQ(connect_unix().get("/peer").status, 200u);
}

}  // namespace
}  // namespace troupe::http::test
