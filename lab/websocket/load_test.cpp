// SPDX-License-Identifier: Apache-2.0
#include "lab/websocket/load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/websocket/server_process.hpp"
#include "lab/websocket/servers.hpp"

namespace troupe::lab {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

load::processor_time time_of(const server_process& server) {
  return [&server] { return server.cpu_s(); };
}

void expect_plausible(const window& found) {
  EXPECT_GT(found.messages, 0u);
  EXPECT_EQ(found.took.count(), found.messages);
  EXPECT_GT(found.server_cpu_s, 0);
  EXPECT_GT(found.client_cpu_s, 0);
  EXPECT_LT(found.server_cpu_s, 4 * found.wall_s);
  EXPECT_LE(found.took.quantile(0.5), found.took.quantile(0.99));
}

void expect_echoes(server_body serve, const server_setup& how) {
  const server_process server(serve, how, choose_processors().server);
  load clients(server.port(), how.tls, 5, time_of(server));
  for (const std::size_t bytes : {1u, 64u, 126u, 70'000u}) {
    clients.say_once(bytes);
    for (const std::size_t depth : {1u, 7u}) {
      expect_plausible(clients.echo(bytes, depth, 1ms, 20ms));
    }
  }
}

TEST(load, measures_the_echo_of_each_server) {
  expect_echoes(websocket::serve_with_beast, {});
  expect_echoes(websocket::serve_with_troupe, {});
}

TEST(load, speaks_tls) { expect_echoes(websocket::serve_with_beast, {.tls = true}); }

TEST(load, the_next_broadcast_of_a_slot_waits_for_all_clients) {
  for (const server_body serve :
       {websocket::serve_with_beast, websocket::serve_with_troupe, websocket::serve_with_lua}) {
    const server_process server(serve, {.broadcasts = true}, choose_processors().server);
    load clients(server.port(), false, 5, time_of(server));
    for (const std::size_t depth : {1u, 3u}) {
      expect_plausible(clients.broadcast(64, depth, 1ms, 20ms));
    }
  }
}

TEST(load, answers_pings_and_counts_them) {
  for (const server_body serve : {websocket::serve_with_beast, websocket::serve_with_troupe}) {
    const server_process server(serve, {.idle_timeout = 2s}, choose_processors().server);
    load clients(server.port(), false, 3, time_of(server));
    std::uint64_t pings = 0;
    for (int i = 0; i < 100 && pings < 6; ++i) pings += clients.quiet(100ms).messages;
    EXPECT_GE(pings, 6u);
    clients.say_once(64);  // the server has closed no connection
  }
}

TEST(load, a_server_that_sends_unsolicited_messages_is_detected) {
  // A message of one client goes to all: the others have not sent anything.
  const server_process server(websocket::serve_with_troupe, {.broadcasts = true},
                              choose_processors().server);
  load clients(server.port(), false, 3, time_of(server));
  EXPECT_THAT([&] { (void)clients.echo(64, 1, 1ms, 50ms); },
              ThrowsMessage<std::runtime_error>(HasSubstr("sends more messages than it received")));
}

TEST(load, a_server_without_tls_is_reported) {
  const server_process server(websocket::serve_with_beast, {}, choose_processors().server);
  EXPECT_THAT([&] { load(server.port(), true, 1, time_of(server)); },
              ThrowsMessage<std::runtime_error>(HasSubstr("the server does not speak TLS")));
}

TEST(server_process, a_server_that_cannot_start_reports_the_reason) {
  const auto fails = [](const server_setup&, const announcement&) {
    throw std::runtime_error("no port is free");
  };
  EXPECT_THAT([&] { server_process(fails, {}, choose_processors().server); },
              ThrowsMessage<std::runtime_error>("a server cannot serve: no port is free"));
  const std::vector<std::string> nobody{"/nowhere/echo"};
  EXPECT_THAT([&] { server_process(nobody, choose_processors().server); },
              ThrowsMessage<std::runtime_error>(
                  HasSubstr("/nowhere/echo cannot be started: No such file")));
}

TEST(server_process, it_ends_with_its_owner) {
  std::uint16_t port = 0;
  {
    const server_process server(websocket::serve_with_troupe, {}, choose_processors().server);
    EXPECT_GT(server.resident_bytes(), 100'000);
    port = server.port();
    load(port, false, 1, time_of(server)).say_once(64);
  }
  EXPECT_THAT([&] { load(port, false, 1, [] { return 0.0; }); },
              ThrowsMessage<std::runtime_error>(HasSubstr("cannot connect to the server")));
}

TEST(descriptors, too_few_are_named) {
  EXPECT_NO_THROW(expect_descriptors(10));
  rlimit allowed{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &allowed), 0);
  if (allowed.rlim_max == RLIM_INFINITY) GTEST_SKIP() << "as many as one wants";
  EXPECT_THAT([&] { expect_descriptors(allowed.rlim_max); },
              ThrowsMessage<std::runtime_error>(HasSubstr("raise the hard limit")));
}

}  // namespace
}  // namespace troupe::lab
