// SPDX-License-Identifier: Apache-2.0
// The server in a simulation, whole: its listener, gate, connections, codec and sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <troupe/http/http.hpp>
#include <troupe/http/simulated_client.hpp>
#include <troupe/net/simulated_network.hpp>
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
  (void)w.sim.advance(5h);  // it is pinged, and answers
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

}  // namespace
}  // namespace troupe::http
