// SPDX-License-Identifier: Apache-2.0
// A complete server in a simulation: its listener, gate, connections, codec and sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/http/http.hpp>
#include <troupe/http/simulated_client.hpp>
#include <troupe/net/simulated_network.hpp>
#include <troupe/net/socket.hpp>
#include <troupe/sim/simulation.hpp>

namespace troupe::http {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

class echo : public actor {
 public:
  explicit echo(websocket client) : client_(std::move(client)) {}
  void on(const text& m) {
    if (m.data == "fail") throw std::runtime_error("asked to");
    client_.send("> " + m.data);
  }

 private:
  const websocket client_;
};

struct world {
  explicit world(std::uint64_t seed, net::simulated_network_options how = {}, options with = {},
                 const std::function<void(http::server&)>& also = {})
      : sim(seed), network(how), server(system, with), clients(system, "clients") {
    server.websocket<echo>("/echo");
    if (also) also(server);
    server.start();
  }

  sim::simulation sim;
  net::simulated_network network;
  troupe::system system{{.on_failure = [](const failure&) {}}};
  http::server server;
  net::loop clients;
};

TEST(simulated_server, serves_a_websocket) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    world w(seed);
    simulated_client one(w.clients, "10.0.0.7");
    one.connect(w.server.port(), "/echo");
    ASSERT_TRUE(w.sim.run_until([&] { return one.is_open(); }, 1s));
    one.send("hello");
    one.send("you");
    ASSERT_TRUE(w.sim.run_until([&] { return one.messages_in() == 2; }, 1s));
    EXPECT_EQ(one.take(), "> hello");
    EXPECT_EQ(one.take(), "> you");
    EXPECT_FALSE(one.take().has_value());
    one.close(1000, "enough");
    ASSERT_TRUE(w.sim.run_until([&] { return one.end().has_value(); }, 1s));
    EXPECT_EQ(one.end()->code, 1000);
    EXPECT_TRUE(w.sim.run_until([&] { return w.server.statistics().websockets == 0; }, 10s));
  }
}

TEST(simulated_server, clients_see_the_close_code) {
  world w(1);
  simulated_client failing(w.clients);
  failing.connect(w.server.port(), "/echo");
  failing.send("fail");
  ASSERT_TRUE(w.sim.run_until([&] { return failing.end().has_value(); }, 10s));
  EXPECT_EQ(failing.end()->code, 1011);

  simulated_client lost(w.clients);
  lost.connect(w.server.port(), "/nowhere");
  ASSERT_TRUE(w.sim.run_until([&] { return lost.end().has_value(); }, 10s));
  EXPECT_EQ(lost.end()->code, 1006);

  simulated_client drained(w.clients);
  drained.connect(w.server.port(), "/echo");
  ASSERT_TRUE(w.sim.run_until([&] { return drained.is_open(); }, 1s));
  EXPECT_TRUE(w.server.drain(5s));
  ASSERT_TRUE(w.sim.run_until([&] { return drained.end().has_value(); }, 10s));
  EXPECT_EQ(drained.end()->code, 1001);
}

TEST(simulated_server, a_connection_reset_is_detected) {
  world w(1);
  simulated_client one(w.clients);
  one.connect(w.server.port(), "/echo");
  ASSERT_TRUE(w.sim.run_until([&] { return one.is_open(); }, 1s));
  EXPECT_EQ(w.server.statistics().websockets, 1u);
  one.reset();
  EXPECT_TRUE(w.sim.run_until([&] { return w.server.statistics().websockets == 0; }, 1s));
}

TEST(simulated_server, hours_of_silence_pass_at_once) {
  world w(1);
  simulated_client one(w.clients);
  one.connect(w.server.port(), "/echo");
  ASSERT_TRUE(w.sim.run_until([&] { return one.is_open(); }, 1s));
  (void)w.sim.advance(5h);  // it is pinged, and replies
  EXPECT_TRUE(one.is_open());
  one.send("still there");
  EXPECT_TRUE(w.sim.run_until([&] { return one.messages_in() == 1; }, 1s));
}

TEST(simulated_server, no_connection_outlives_network_faults) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    world w(seed, {.splits_one_in = 3,
                   .refuses_one_in = 10,
                   .resets_one_in = 15,
                   .half_closes_one_in = 15,
                   .slow_readers_one_in = 4});
    std::vector<simulated_client> all;
    for (int i = 0; i < 8; ++i) {
      all.emplace_back(w.clients, "10.0.0." + std::to_string(i + 1));
      all.back().connect(w.server.port(), "/echo");
      for (int k = 0; k < 3; ++k) all.back().send(std::string(50, 'x'));
    }
    (void)w.sim.advance(10s);
    for (simulated_client& each : all) each.close();
    ASSERT_TRUE(w.sim.run_until([&] { return w.server.statistics().connections == 0; }, 10min))
        << "seed " << seed << "\n"
        << w.sim.trace();
    (void)w.sim.advance(1min);
    for (const simulated_client& each : all) EXPECT_TRUE(each.end().has_value()) << seed;
  }
}

TEST(simulated_server, the_same_seed_is_the_same_run) {
  const auto hash = [](std::uint64_t seed) {
    world w(seed, {.resets_one_in = 50});
    std::vector<simulated_client> all;
    for (int i = 0; i < 5; ++i) {
      all.emplace_back(w.clients, "10.0.0.1");
      all.back().connect(w.server.port(), "/echo");
      all.back().send("hello");
    }
    (void)w.sim.advance(1min);
    (void)w.server.drain(1s);
    return w.sim.trace_hash();
  };
  for (std::uint64_t seed = 0; seed < 10; ++seed) EXPECT_EQ(hash(seed), hash(seed));
  EXPECT_NE(hash(1), hash(2));
}

// ── Time ──────────────────────────────────────────────────────────────────────────────────────

/// Takes a long time to handle a message.
class slow_session : public actor {
 public:
  explicit slow_session(websocket client) : client_(std::move(client)) {}
  exclusive_task<> on(text m) {
    if (m.data == "wait") co_await sleep_for(10min);
    client_.send(m.data);
  }

 private:
  const websocket client_;
};

TEST(simulated_server, a_client_that_was_not_read_from_has_not_been_silent) {
  sim::simulation sim(1);
  net::simulated_network network;
  troupe::system system;
  http::server server(system, {});
  server.websocket<slow_session>("/slow", spawn_options{.max_messages = 1});
  server.start();
  net::loop clients(system, "clients");
  simulated_client one(clients);
  one.connect(server.port(), "/slow");
  ASSERT_TRUE(sim.run_until([&] { return one.is_open(); }, 1s));
  one.send("wait");
  one.send("more");
  one.send("more");  // it exceeds the limit, and nothing is left to read after it
  (void)sim.advance(1min);
  EXPECT_EQ(server.statistics().held_back, 1u);
  (void)sim.advance(20min);
  EXPECT_EQ(one.messages_in(), 3u);
  EXPECT_TRUE(one.is_open());
  EXPECT_EQ(server.statistics().idle_closed, 0u);
}

/// A client that sends exactly the bytes that the test specifies.
class raw_client {
 public:
  explicit raw_client(world& in) : raw_client(in, in.server.port()) {}
  raw_client(world& in, std::uint16_t port) : in_(in), socket_(in.clients.context()) {
    std::optional<net::error_code> done;
    socket_.async_connect({boost::asio::ip::make_address("127.0.0.1"), port},
                          [&](net::error_code error) { done = error; });
    EXPECT_TRUE(in.sim.run_until([&] { return done.has_value(); }, 1s));
    EXPECT_FALSE(done.value_or(net::error_code{}));
  }
  void say(const std::string& bytes) {
    bool done = false;
    boost::asio::async_write(socket_, boost::asio::buffer(bytes),
                             [&](net::error_code error, std::size_t) {
                               EXPECT_FALSE(error);
                               done = true;
                             });
    EXPECT_TRUE(in_.sim.run_until([&] { return done; }, 1s));
  }
  /// Everything that comes until the server sends no more, and how that ended.
  std::string hear(duration within = 1min) {
    std::string all;
    std::optional<net::error_code> end;
    std::array<char, 512> some;
    const std::function<void()> read = [&] {
      socket_.async_read_some(boost::asio::buffer(some),
                              [&](net::error_code error, std::size_t bytes) {
                                all.append(some.data(), bytes);
                                error ? void(end = error) : read();
                              });
    };
    read();
    EXPECT_TRUE(in_.sim.run_until([&] { return end.has_value(); }, within));
    EXPECT_EQ(end.value_or(net::error_code{}), boost::asio::error::eof);
    return all;
  }
  void hang_up() {
    net::error_code ignored;
    socket_.close(ignored);
  }
  void upgrade(const std::string& path) {
    say("GET " + path +
        " HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    EXPECT_TRUE(in_.sim.run_until([&] { return in_.server.statistics().websockets == 1; }, 1s));
  }
  static std::string frame(const std::string& text) {
    std::string all{static_cast<char>(0x81), static_cast<char>(0x80 | text.size()), 0, 0, 0, 0};
    return all += text;  // a mask of zeros leaves the text as it is
  }
  /// As a server sends them.
  static std::string message(const std::string& text) {
    return std::string{static_cast<char>(0x81), static_cast<char>(text.size())} + text;
  }
  static std::string closing(unsigned code, const std::string& why) {
    return std::string{static_cast<char>(0x88), static_cast<char>(2 + why.size()),
                       static_cast<char>(code >> 8), static_cast<char>(code & 0xff)} +
           why;
  }

 private:
  world& in_;
  net::socket socket_;
};

// The text is made by an actor with a thread of its own, which is scheduled like the others here.
TEST(simulated_server, shows_its_metrics_on_another_listener) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    world w(seed);
    int made = 0;
    server admin(w.system, admin_options("127.0.0.1:9180"));
    admin.metrics_of(w.server, "/metrics", [&] {
      ++made;
      return std::vector<figure_family>();
    });
    admin.health_of(w.server);
    admin.start();
    raw_client scraper(w, admin.port());
    scraper.say("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_TRUE(w.sim.run_until([&] { return admin.statistics().bytes_out > 1'000; }, 1s));
    EXPECT_EQ(made, 1);
    EXPECT_TRUE(w.server.drain(10s));
    EXPECT_TRUE(admin.drain(10s));
  }
}

// Its limits are those of admin_options(), whatever those of the other server.
TEST(simulated_server, a_slow_client_of_the_admin_listener_is_closed_in_its_own_time) {
  options patient;
  patient.limits.handshake_timeout = 1h;
  patient.limits.request_timeout = 1h;
  patient.limits.idle_timeout = 1h;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    world w(seed, {}, patient);
    server admin(w.system, admin_options("127.0.0.1:9180"));
    admin.health_of(w.server);
    admin.start();
    raw_client silent(w, admin.port());
    raw_client slow(w, admin.port());
    raw_client keeps_connection(w, admin.port());
    slow.say("GET /healthz HTTP/1.1\r\n");
    keeps_connection.say("GET /healthz HTTP/1.1\r\nHost: a.localhost\r\n\r\n");
    EXPECT_TRUE(w.sim.run_until([&] { return admin.statistics().requests == 1; }, 1s));
    EXPECT_EQ(admin.statistics().connections, 3u);
    (void)w.sim.advance(4s);
    EXPECT_EQ(admin.statistics().requests_timed_out, 0u);
    (void)w.sim.advance(4s);
    EXPECT_EQ(admin.statistics().requests_timed_out, 2u);
    EXPECT_EQ(admin.statistics().connections, 1u);
    (void)w.sim.advance(30s);
    EXPECT_EQ(admin.statistics().connections, 0u);
    EXPECT_EQ(admin.statistics().idle_closed, 1u);
    raw_client patiently_served(w);
    (void)w.sim.advance(1min);
    EXPECT_EQ(w.server.statistics().connections, 1u);
  }
}

// The time limit of each message starts at its own first byte, even if that arrived together with
// the end of the previous message.
TEST(simulated_server, the_time_of_a_message_ends_with_it) {
  world w(1);
  raw_client one(w);
  one.upgrade("/echo");
  const std::string frame = raw_client::frame("hello");
  const std::string begin = frame.substr(0, 7);
  const std::string rest = frame.substr(7);
  one.say(begin);
  for (int i = 0; i < 5; ++i) {
    (void)w.sim.advance(20s);  // limits::request_timeout is 30 s
    one.say(rest + begin);
  }
  (void)w.sim.advance(20s);
  EXPECT_EQ(w.server.statistics().requests_timed_out, 0u);
  EXPECT_EQ(w.server.statistics().messages_in, 5u);
  (void)w.sim.advance(20s);
  EXPECT_EQ(w.server.statistics().requests_timed_out, 1u) << "the last one does not end";
}

// ── Messages before a violation ───────────────────────────────────────────────────────────────

const std::string bad_utf8 = raw_client::frame("\xff");
const std::string reserved_bit = std::string{static_cast<char>(0xc1), static_cast<char>(0x80)};
const std::string not_utf8 = "a text message that is not valid UTF-8";
const std::string reserved = "a reserved bit is set although no extension was negotiated";

/// Replies as `ms:text` tells it to, after so many milliseconds; and remembers how it ended.
class delayed : public actor {
 public:
  delayed(websocket client, std::shared_ptr<std::optional<closed>> end)
      : client_(std::move(client)), end_(std::move(end)) {}
  exclusive_task<> on(text m) {
    const std::size_t colon = m.data.find(':');
    co_await sleep_for(std::chrono::milliseconds(std::stoi(m.data)));
    const std::string what = m.data.substr(colon + 1);
    if (what == "throw") throw std::runtime_error("asked to");
    if (what == "close") client_.close(4000, "enough");
    if (what == "stop") stop();
    if (what == "flood") {
      while (client_.send(std::string(100'000, 'x')) == delivery::accepted) {
      }
    } else {
      client_.send(what);
    }
  }
  void on(const closed& m) { *end_ = m; }

 private:
  const websocket client_;
  const std::shared_ptr<std::optional<closed>> end_;
};

struct end_of_session {
  const std::shared_ptr<std::optional<closed>> end = std::make_shared<std::optional<closed>>();
};

struct world_of_delayed : end_of_session, world {
  explicit world_of_delayed(std::uint64_t seed, net::simulated_network_options how = {})
      : world(seed, how, {}, [this](http::server& to) { to.websocket<delayed>("/late", end); }) {}
};

TEST(simulated_violation, messages_completed_before_it_are_answered_first) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed, {.splits_one_in = seed % 2 == 0 ? 0u : 2u});
    raw_client one(w);
    one.upgrade("/echo");
    one.say(raw_client::frame("one") + raw_client::frame("two") +
            (seed % 3 == 0 ? reserved_bit : bad_utf8) + raw_client::frame("three"));
    EXPECT_THAT(one.hear(),
                EndsWith("\r\n\r\n" + raw_client::message("> one") + raw_client::message("> two") +
                         (seed % 3 == 0 ? raw_client::closing(1002, reserved)
                                        : raw_client::closing(1007, not_utf8))))
        << "seed " << seed << "\n"
        << w.sim.trace();
    EXPECT_EQ(w.server.statistics().messages_in, 2u);
    EXPECT_EQ(w.server.statistics().messages_out, 2u);
    EXPECT_EQ(w.server.statistics().protocol_errors, 1u);
    one.hang_up();
    EXPECT_TRUE(w.sim.run_until([&] { return w.server.statistics().connections == 0; }, 10s));
  }
}

// As many as the window takes: the violation is read when there is room again.
TEST(simulated_violation, a_slow_session_still_answers_all_earlier_messages) {
  world_of_delayed w(1);
  raw_client one(w);
  one.upgrade("/late");
  std::string said, heard;
  for (int i = 0; i < 50; ++i) {
    said += raw_client::frame("100:" + std::to_string(i));
    heard += raw_client::message(std::to_string(i));
  }
  one.say(said + bad_utf8);
  EXPECT_THAT(one.hear(), EndsWith(heard + raw_client::closing(1007, not_utf8)));
  EXPECT_GE(w.server.statistics().receive_pauses, 1u);
}

TEST(simulated_violation, replies_are_awaited_for_at_most_close_timeout) {
  world_of_delayed w(1);
  raw_client one(w);
  one.upgrade("/late");
  const time_point before = w.sim.now();
  one.say(raw_client::frame("1000:soon") + raw_client::frame("600000:never") + bad_utf8);
  EXPECT_THAT(one.hear(),
              EndsWith(raw_client::message("soon") + raw_client::closing(1007, not_utf8)));
  EXPECT_GE(w.sim.now() - before, 5s);  // limits::close_timeout
  EXPECT_LT(w.sim.now() - before, 6s);
  one.hang_up();
  EXPECT_TRUE(w.sim.run_until([&] { return w.server.statistics().connections == 0; }, 10s));
}

TEST(simulated_violation, its_code_stays_however_the_session_ends) {
  for (const std::string what : {"throw", "close", "stop", "last"}) {
    world_of_delayed w(1);
    raw_client one(w);
    one.upgrade("/late");
    one.say(raw_client::frame("10:first") + raw_client::frame("10:" + what) + bad_utf8);
    EXPECT_THAT(one.hear(), AllOf(HasSubstr(raw_client::message("first")),
                                  EndsWith(raw_client::closing(1007, not_utf8))))
        << what;
    one.hang_up();
    ASSERT_TRUE(w.sim.run_until([&] { return w.server.statistics().connections == 0; }, 10s));
    if (what != "last") continue;
    (void)w.sim.run_until([&] { return w.end->has_value(); }, 1s);
    ASSERT_TRUE(w.end->has_value());
    EXPECT_EQ((*w.end)->code, 1007);
    EXPECT_EQ((*w.end)->reason, not_utf8);
  }
}

TEST(simulated_violation, replies_beyond_the_send_queue_are_dropped) {
  world_of_delayed w(1);
  raw_client one(w);
  one.upgrade("/late");
  one.say(raw_client::frame("1:flood") + bad_utf8);
  const std::string all = one.hear();
  EXPECT_THAT(all, EndsWith(raw_client::closing(1007, not_utf8)));
  EXPECT_LT(all.size(), 1'100'000u);  // limits::send_queue_bytes
  EXPECT_EQ(w.server.statistics().slow_readers_closed, 1u);
}

TEST(simulated_violation, a_client_that_does_not_read_is_closed_within_twice_close_timeout) {
  world_of_delayed w(1, {.socket_bytes = 1000});
  raw_client one(w);
  one.upgrade("/late");
  for (int i = 0; i < 10; ++i) one.say(raw_client::frame("1:" + std::string(100, 'x')));
  one.say(bad_utf8);
  const time_point before = w.sim.now();
  ASSERT_TRUE(w.sim.run_until([&] { return w.server.statistics().connections == 0; }, 1min));
  EXPECT_LT(w.sim.now() - before, 11s);
  EXPECT_EQ(w.server.statistics().protocol_errors, 1u);
}

TEST(simulated_violation, a_concurrent_drain_changes_neither_replies_nor_close_code) {
  world_of_delayed w(1);
  raw_client one(w);
  one.upgrade("/late");
  one.say(raw_client::frame("1000:late") + bad_utf8);
  ASSERT_TRUE(w.sim.run_until([&] { return w.server.statistics().protocol_errors == 1; }, 1s));
  EXPECT_TRUE(w.server.drain(30s));  // the client does not close its end, which takes close_timeout
  EXPECT_EQ(w.server.statistics().messages_out, 1u);
  ASSERT_TRUE(w.sim.run_until([&] { return w.end->has_value(); }, 1s));
  EXPECT_EQ((*w.end)->code, 1007);
}

// ── Lack of memory ────────────────────────────────────────────────────────────────────────────

/// A client whose connection may end at any time.
class visitor {
 public:
  explicit visitor(world& in) : conversation_(std::make_shared<conversation>(in)) {
    conversation_->begin(in.server.port());
  }
  visitor(const visitor&) = delete;
  visitor& operator=(const visitor&) = delete;
  ~visitor() {
    net::error_code ignored;
    conversation_->socket.close(ignored);
  }

  [[nodiscard]] bool was_answered() const noexcept { return conversation_->bytes > 0; }

 private:
  struct conversation : std::enable_shared_from_this<conversation> {
    explicit conversation(world& in) : socket(in.clients.context()) {}

    void begin(std::uint16_t port) {
      socket.async_connect({boost::asio::ip::make_address("127.0.0.1"), port},
                           [me = shared_from_this()](net::error_code error) {
                             if (!error) me->ask();
                           });
    }
    void ask() {
      static const std::string question = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
      boost::asio::async_write(socket, boost::asio::buffer(question),
                               [me = shared_from_this()](net::error_code error, std::size_t) {
                                 if (!error) me->read();
                               });
    }
    void read() {
      socket.async_read_some(boost::asio::buffer(some),
                             [me = shared_from_this()](net::error_code error, std::size_t count) {
                               me->bytes += count;
                               if (!error) me->read();
                             });
    }

    net::socket socket;
    std::array<char, 512> some{};
    std::size_t bytes = 0;
  };

  const std::shared_ptr<conversation> conversation_;
};

TEST(simulated_server, accepts_again_when_memory_is_available_again) {
  std::uint64_t faults = 0, served = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed, {}, {}, [](http::server& to) { to.health(); });
    const visitor first(w);
    ASSERT_TRUE(w.sim.run_until([&] { return first.was_answered(); }, 1s));
    w.sim.inject({.failed_allocations_one_in = seed % 8 == 0 ? 1u : 4u});
    std::vector<std::unique_ptr<visitor>> all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(std::make_unique<visitor>(w));
      (void)w.sim.advance(i % 2 == 0 ? duration(0) : duration(20ms));
    }
    (void)w.sim.advance(1s);
    faults += w.sim.faults_so_far();
    for (const auto& each : all) served += each->was_answered() ? 1u : 0u;
    w.sim.end_faults();

    const visitor last(w);
    ASSERT_TRUE(w.sim.run_until([&] { return last.was_answered(); }, 1s)) << "seed " << seed << "\n"
                                                                          << w.sim.trace();
    // Each has given its place back.
    all.clear();
    ASSERT_TRUE(w.sim.run_until([&] { return w.server.statistics().connections == 2; }, 1s))
        << "seed " << seed << ": " << w.server.statistics().connections;
    EXPECT_TRUE(w.server.drain(5s)) << seed;
  }
  EXPECT_GT(faults, 1000u);
  EXPECT_GT(served, 100u);
}

}  // namespace
}  // namespace troupe::http
