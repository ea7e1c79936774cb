// SPDX-License-Identifier: Apache-2.0
// A complete server in a simulation: its listener, gate, connections, codec and sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
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
  explicit world(std::uint64_t seed, net::simulated_network_options how = {}, options with = {})
      : sim(seed), network(how), server(system, with), clients(system, "clients") {
    server.websocket<echo>("/echo");
    server.start();
  }

  sim::simulation sim;
  net::simulated_network network;
  troupe::system system;
  http::server server;
  net::loop clients;
};

TEST(simulated_server, answers_a_websocket) {
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

TEST(simulated_server, tells_clients_how_it_ended) {
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

TEST(simulated_server, a_client_that_goes_without_a_word_is_noticed) {
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

TEST(simulated_server, whatever_the_network_does_nobody_stays_behind) {
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
  explicit raw_client(world& in) : in_(in), socket_(in.clients.context()) {
    std::optional<net::error_code> done;
    socket_.async_connect({boost::asio::ip::make_address("127.0.0.1"), in.server.port()},
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

 private:
  world& in_;
  net::socket socket_;
};

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

}  // namespace
}  // namespace troupe::http
