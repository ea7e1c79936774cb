// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <troupe/actor/observer.hpp>
#include <utility>
#include <vector>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

using testing::ElementsAre;

/// Replies when it is allowed to.
class late : public actor {
 public:
  late(http::websocket client, std::shared_ptr<std::counting_semaphore<>> gate)
      : client_(std::move(client)), gate_(std::move(gate)) {}
  void on(http::text m) {
    gate_->acquire();
    client_.send("late " + m.data);
  }

 private:
  http::websocket client_;
  std::shared_ptr<std::counting_semaphore<>> gate_;
};

bool catches(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler != SIG_DFL;
}

class server_shutdown : public served {
 protected:
  void serve(http::options o = on_free_port()) {
    start(std::move(o), [this](http::server& s) {
      s.route("POST", "/echo", [](const request& r) { return response::text(r.body()); });
      s.websocket<obedient>("/obey", log_);
      s.websocket<late>("/late", gate_);
      s.health();
    });
  }
  bool accepts() const {
    try {
      connect();
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }
  /// Runs drain() on a thread of its own.
  std::jthread drain(std::chrono::milliseconds deadline, bool& result) {
    return std::jthread{[this, deadline, &result] { result = server_->drain(deadline); }};
  }

  std::shared_ptr<diary> log_ = std::make_shared<diary>();
  std::shared_ptr<std::counting_semaphore<>> gate_ = std::make_shared<std::counting_semaphore<>>(0);
};

TEST_F(server_shutdown, a_drain_closes_websockets_with_1001_and_refuses_connections) {
  serve();
  raw_client c = open("/obey");
  raw_client idle = connect();
  ASSERT_EQ(idle.get("/healthz").body, "ok\n");
  bool drained = false;
  {
    const auto draining = drain(30s, drained);
    EXPECT_EQ(c.read_close().code(), 1001u);
    EXPECT_EQ(c.read_to_end(), "");
    c.hang_up();
    EXPECT_EQ(idle.read_to_end(), "");
    EXPECT_FALSE(idle.was_reset());
  }
  EXPECT_TRUE(drained);
  EXPECT_FALSE(accepts());
  EXPECT_THAT(log_->lines(3),
              ElementsAre("opened", "closed 1001 the server is going away", "ended"));
}

TEST_F(server_shutdown, a_drain_completes_received_requests_and_messages) {
  serve();
  raw_client socket = open("/late");
  for (int i = 0; i < 5; ++i) socket.say(std::to_string(i));
  raw_client half = connect();
  half.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n12345");
  ASSERT_TRUE(comes_true([&] { return statistics().messages_in == 5; }));
  ASSERT_TRUE(comes_true([&] { return statistics().accepted == 2; }));
  bool drained = false;
  {
    const auto draining = drain(30s, drained);
    ASSERT_TRUE(comes_true([&] { return !accepts(); }));
    gate_->release(5);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(socket.hear(), "late " + std::to_string(i));
    EXPECT_EQ(socket.read_close().code(), 1001u);
    socket.hang_up();

    half.send("67890");
    const answer a = half.read_answer();
    EXPECT_EQ(a.body, "1234567890");
    EXPECT_EQ(a.headers.at("connection"), "close");
    half.hang_up();
  }
  EXPECT_TRUE(drained);
}

TEST_F(server_shutdown, a_drain_is_seen_by_health_checks) {
  serve();
  raw_client check = connect();
  check.send("GET /healthz HTTP/1.1\r\n");  // has begun, so it gets a response
  raw_client busy = open("/late");
  busy.say("hello");
  ASSERT_TRUE(comes_true([&] { return statistics().messages_in == 1; }));
  bool drained = false;
  {
    const auto draining = drain(30s, drained);
    ASSERT_TRUE(comes_true([&] { return !accepts(); }));
    check.send("Host: here\r\n\r\n");
    const answer a = check.read_answer();
    EXPECT_EQ(a.status, 503u);
    EXPECT_EQ(a.body, "draining\n");
    check.hang_up();
    gate_->release();
    busy.read_close();
    busy.hang_up();
  }
  EXPECT_TRUE(drained);
}

TEST_F(server_shutdown, a_drain_closes_remaining_connections_at_its_deadline) {
  serve();
  raw_client stubborn = open("/obey");  // never answers the close frame
  const time_point before = clock::now();
  EXPECT_FALSE(server_->drain(300ms));
  EXPECT_GE(clock::now() - before, 300ms);
  EXPECT_EQ(stubborn.read_frame().code(), 1001u);
  EXPECT_EQ(stubborn.read_to_end(), "");
  EXPECT_THAT(log_->lines(3), ElementsAre("opened", testing::StartsWith("closed "), "ended"));
  EXPECT_EQ(statistics().connections, 0u);
}

TEST_F(server_shutdown, stop_closes_all_connections_and_notifies_every_session) {
  serve();
  raw_client c = open("/obey");
  raw_client idle = connect();
  ASSERT_EQ(idle.get("/healthz").status, 200u);
  server_->stop();
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_THAT(log_->lines(3),
              ElementsAre("opened", "closed 1006 the server closed the connection", "ended"));
  EXPECT_FALSE(accepts());
  server_->stop();                   // a second call does nothing
  EXPECT_TRUE(server_->drain(1ms));  // nothing is left to drain
}

/// Records the order in which actors of these types end.
class recorded_ends final : public observer {
 public:
  void ended(const actor_event& e, exit_reason) override {
    const std::lock_guard lock(mutex_);
    for (const auto* type : {"listener", "gate"}) {
      if (e.actor.ends_with(type)) types_.emplace_back(type);
    }
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(types_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> types_;
};

// stop() and drain() wait for the gate. The listener closes its socket at its end.
TEST(end_of_a_server, leaves_the_port_at_once_to_the_next_one) {
  const auto ends = std::make_shared<recorded_ends>();
  troupe::system system{{.workers = 1, .observer = ends}};
  http::options same;
  same.port = 0;
  for (int i = 0; i < 20; ++i) {
    http::server one{system, same};
    ASSERT_NO_THROW(one.start()) << "round " << i;
    same.port = one.port();
    if (i % 2 == 0) {
      one.stop();
    } else {
      EXPECT_TRUE(one.drain(patience));
    }
    EXPECT_THAT(ends->take(), ElementsAre("listener", "gate"));
  }
}

TEST_F(server_shutdown, the_destructor_ends_all_and_the_port_is_free_again) {
  serve();
  const std::uint16_t port = server_->port();
  raw_client c = open("/obey");
  raw_client half = connect();
  half.send("GET /hea");
  server_.reset();
  EXPECT_EQ(c.read_to_end(), "");
  half.read_to_end();
  EXPECT_EQ(log_->lines(3).size(), 3u);

  http::options again = on_free_port();
  again.port = port;
  serve(again);
  EXPECT_EQ(server_->port(), port);
  EXPECT_EQ(connect().get("/healthz").status, 200u);
}

TEST_F(server_shutdown, a_server_that_never_started_can_be_destroyed) {
  const http::server never{system_, on_free_port()};
}

TEST_F(server_shutdown, the_system_may_go_first) {
  serve();
  raw_client c = open("/obey");
  EXPECT_TRUE(system_.shutdown(30s).complete());
  EXPECT_EQ(system_.statistics().failures, 0u) << "not of the gate without its listener";
  c.read_to_end();  // perhaps with a close frame, if the session terminated first
  server_.reset();
}

TEST_F(server_shutdown, a_crowd_is_drained_too) {
  serve();
  std::vector<raw_client> crowd;
  for (int i = 0; i < 200; ++i) crowd.push_back(open("/obey"));
  bool drained = false;
  {
    const auto draining = drain(30s, drained);
    for (raw_client& c : crowd) EXPECT_EQ(c.read_close().code(), 1001u);
    crowd.clear();
  }
  EXPECT_TRUE(drained);
}

TEST_F(server_shutdown, run_serves_until_a_signal_and_returns_zero) {
  serve();
  int result = -1;
  {
    const std::jthread main{[&] { result = server_->run(); }};
    ASSERT_TRUE(comes_true([] { return catches(SIGTERM); }));
    EXPECT_EQ(connect().get("/healthz").status, 200u);
    ::kill(::getpid(), SIGTERM);
  }
  EXPECT_EQ(result, 0);
}

TEST_F(server_shutdown, run_gives_the_signals_back_if_it_cannot_start) {
  serve();
  http::options taken = on_free_port();
  taken.port = server_->port();
  http::server second{system_, taken};
  EXPECT_THROW(second.run(), std::system_error);
  EXPECT_FALSE(catches(SIGTERM));
}

TEST_F(server_shutdown, a_start_that_failed_may_be_tried_again) {
  serve();
  http::options taken = on_free_port();
  taken.port = server_->port();
  http::server second{system_, taken};
  EXPECT_THROW(second.start(), std::system_error);
  server_.reset();
  second.start();
  EXPECT_EQ(second.port(), taken.port);
}

TEST_F(server_shutdown, stop_from_another_thread_ends_run) {
  serve();
  int result = -1;
  {
    const std::jthread main{[&] { result = server_->run(); }};
    server_->stop();  // before or while it waits
  }
  EXPECT_EQ(result, 0);
}

using ending_death = server_shutdown;

TEST_F(ending_death, a_second_signal_ends_at_once) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang_and_get_two_signals = [] {
    troupe::system system;
    http::options o = on_free_port();
    o.limits.drain_timeout = std::chrono::hours{1};
    o.limits.close_timeout = std::chrono::hours{1};
    http::server server{system, o};
    server.websocket<echo>("/echo");
    server.start();
    const std::jthread client{[&] {
      raw_client c{server.port()};
      c.upgrade("/echo");
      while (!catches(SIGTERM)) std::this_thread::yield();
      ::kill(::getpid(), SIGTERM);
      c.read_frame();  // 1001, to which the client does not reply, so the drain cannot complete
      ::kill(::getpid(), SIGTERM);
      c.read_to_end();
    }};
    server.run();
  };
  EXPECT_EXIT(hang_and_get_two_signals(), testing::KilledBySignal(SIGTERM), "");
}

TEST(http_server_port, one_that_is_taken_is_named) {
  troupe::system system{{.workers = 1}};
  http::server first{system, {.port = 0}};
  first.start();
  http::server second{system, {.port = first.port()}};
  try {
    second.start();
    FAIL() << "it started";
  } catch (const std::system_error& e) {
    EXPECT_EQ(std::string{e.what()}, "cannot listen on 127.0.0.1:" + std::to_string(first.port()) +
                                         ": Address already in use");
    EXPECT_EQ(e.code(), std::errc::address_in_use);
  }
}

}  // namespace
}  // namespace troupe::http::test
