// SPDX-License-Identifier: Apache-2.0
// WebSocket servers, each in a process on one processor. Their clients are on another one.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lab/frame/bars.hpp"
#include "lab/frame/experiment.hpp"
#include "lab/websocket/load.hpp"
#include "lab/websocket/programs.hpp"
#include "lab/websocket/server_process.hpp"
#include "lab/websocket/servers.hpp"

namespace troupe::lab::experiments {

namespace {

using namespace std::chrono_literals;
using namespace websocket;

enum class engine { beast, beast_tcp_stream, troupe, lua, gorilla, tungstenite };

constexpr const char* name_of(engine which) {
  switch (which) {
    case engine::beast:
      return "beast";
    case engine::beast_tcp_stream:
      return "beast tcp_stream";
    case engine::troupe:
      return "troupe";
    case engine::lua:
      return "troupe lua";
    case engine::gorilla:
      return "gorilla";
    case engine::tungstenite:
      break;
  }
  return "tungstenite";
}

// The server of one run, and this process on the other processor.
class stage {
 public:
  stage(trial& t, engine which, const server_setup& how, std::size_t connections) {
    expect_descriptors(connections);
    const two_processors on = choose_processors();
    if (on.is_one()) t.note("server and clients share the only CPU");
    switch (which) {
      case engine::beast:
        server_.emplace(serve_with_beast, how, on.server);
        break;
      case engine::beast_tcp_stream:
        server_.emplace(serve_with_beast_tcp_stream, how, on.server);
        break;
      case engine::troupe:
        server_.emplace(serve_with_troupe, how, on.server);
        break;
      case engine::lua:
        server_.emplace(serve_with_lua, how, on.server);
        break;
      case engine::gorilla:
      case engine::tungstenite:
        server_.emplace(std::vector<std::string>{program_of(name_of(which))}, on.server);
        break;
    }
    stay_on(on.client);
    before_ = server_->resident_bytes();
    clients_.emplace(server_->port(), how.tls, connections, [this] { return server_->cpu_s(); });
  }

  load& clients() { return *clients_; }
  const server_process& server() const { return *server_; }
  double grown_bytes() const { return server_->resident_bytes() - before_; }

 private:
  std::optional<server_process> server_;
  std::optional<load> clients_;  // destroyed before the server
  double before_ = 0;
};

std::chrono::milliseconds ms(std::uint64_t count) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(count));
}

void report(trial& t, const window& found) {
  const auto messages = static_cast<double>(found.messages);
  if (found.messages == 0) throw std::runtime_error("no message arrived during the measurement");
  t.report("cpu_per_message", "ns", 1e9 * found.server_cpu_s / messages);
  t.report("rate", "messages/s", messages / found.wall_s);
  t.report("p50", "us", found.took.quantile(0.5) / 1e3);
  t.report("p99", "us", found.took.quantile(0.99) / 1e3);
  t.report("p999", "us", found.took.quantile(0.999) / 1e3);
  t.report("client_busy", "1", found.client_cpu_s / found.wall_s);
}

// ── Workloads ─────────────────────────────────────────────────────────────────────────────────

void echo(trial& t, engine which, std::uint64_t connections, std::uint64_t depth,
          std::uint64_t bytes, bool tls) {
  stage on(t, which, {.tls = tls}, connections);
  report(t, on.clients().echo(bytes, depth, ms(t["ms"]) / 4, ms(t["ms"])));
}

template <engine Which, bool Tls>
void one_in_flight(trial& t) {
  echo(t, Which, t["connections"], 1, t["bytes"], Tls);
}

template <engine Which, bool Tls>
void several_in_flight(trial& t) {
  echo(t, Which, t["connections"], t["depth"], t["bytes"], Tls);
}

template <engine Which, bool Tls>
void many_connections(trial& t) {
  echo(t, Which, t["many"], 1, t["many_bytes"], Tls);
}

template <engine Which, bool Several>
void broadcast(trial& t) {
  stage on(t, Which, {.broadcasts = true}, t["many"]);
  const std::uint64_t depth = Several ? t["depth"] : 1;
  report(t, on.clients().broadcast(t["bytes"], depth, ms(t["ms"]) / 4, ms(t["ms"])));
}

// Each client has sent a message and received the reply.
template <engine Which, bool Tls>
void idle(trial& t) {
  stage on(t, Which, {.tls = Tls}, t["idle"]);
  on.clients().say_once(t["bytes"]);
  on.server().settle();
  t.report("bytes_per_connection", "bytes",
           std::max(0.0, on.grown_bytes()) / static_cast<double>(t["idle"]));
}

template <engine Which, bool Pinged>
void crowd(trial& t) {
  server_setup how;
  if (Pinged) how.idle_timeout = 2 * ms(t["ping_ms"]);
  stage on(t, Which, how, t["crowd"]);
  on.clients().say_once(t["bytes"]);
  // With the published size this is longer than the 10 s that a server gives a client for its first
  // request. The timers for that, which it removes afterwards, are part of the opening.
  (void)on.clients().quiet(ms(t["quiet_ms"]) * 11 / 10);
  const window found = on.clients().quiet(ms(t["quiet_ms"]));
  t.report("quiet_cpu", "us/s", 1e6 * found.server_cpu_s / found.wall_s);
  if (found.messages == 0) return;
  t.report("cpu_per_ping", "ns", 1e9 * found.server_cpu_s / static_cast<double>(found.messages));
}

// ── Expected results ──────────────────────────────────────────────────────────────────────────

constexpr std::string_view by_one = "echo, 1 in flight";
constexpr std::string_view by_several = "echo, several in flight";
constexpr std::string_view by_many = "echo, many connections";
constexpr std::string_view by_one_tls = "echo, 1 in flight, TLS";
constexpr std::string_view to_all = "broadcast";
constexpr std::string_view several_to_all = "broadcast, several in flight";
constexpr std::string_view weighed = "idle";
constexpr std::string_view weighed_tls = "idle, TLS";
constexpr std::string_view silent = "idle crowd";
constexpr std::string_view pinged = "idle crowd, pinged";

constexpr std::string_view cost = "cpu_per_message";

std::vector<bar> bars() {
  const auto times = [](std::string_view what, std::string_view ours, std::string_view variant,
                        double most, std::string_view theirs) {
    return bar{what, {ours, variant, cost}, most, {theirs, variant, cost}};
  };
  return {
      times("C++ echo ÷ Beast, 1 in flight", "troupe", by_one, 1, "beast"),
      times("C++ echo ÷ Beast, several in flight", "troupe", by_several, 0.25, "beast"),
      times("C++ echo ÷ Beast, many connections", "troupe", by_many, 0.9, "beast"),
      times("Lua echo ÷ C++ echo, 1 in flight", "troupe lua", by_one, 1.6, "troupe"),
      times("C++ broadcast ÷ Beast one by one", "troupe", to_all, 0.5, "beast"),
      times("C++ broadcast ÷ Beast, several in flight", "troupe", several_to_all, 0.5, "beast"),
      {"bytes of an idle connection", {"troupe", weighed, "bytes_per_connection"}, 6'000},
      {"bytes of an idle connection, TLS", {"troupe", weighed_tls, "bytes_per_connection"}, 60'000},
      {"CPU of an idle crowd, us/s", {"troupe", silent, "quiet_cpu"}, 1'000},
  };
}

std::string answer(const measurements& found) {
  const std::vector<bar> expected = bars();
  return sentence_of(judge(expected, found));
}

template <engine Which>
void add_echoes(std::vector<variant>& to) {
  const auto add = [&](std::string_view name, void (*run)(trial&)) {
    to.push_back({name_of(Which), std::string(name), run});
  };
  add(by_one, one_in_flight<Which, false>);
  add(by_several, several_in_flight<Which, false>);
  add(by_many, many_connections<Which, false>);
  add(weighed, idle<Which, false>);
}

template <engine Which>
void add_crowds(std::vector<variant>& to) {
  const auto add = [&](std::string_view name, void (*run)(trial&)) {
    to.push_back({name_of(Which), std::string(name), run});
  };
  add(to_all, broadcast<Which, false>);
  add(several_to_all, broadcast<Which, true>);
  add(silent, crowd<Which, false>);
  add(pinged, crowd<Which, true>);
}

template <engine Which>
void add_encrypted(std::vector<variant>& to) {
  to.push_back({name_of(Which), std::string(by_one_tls), one_in_flight<Which, true>});
  to.push_back({name_of(Which), std::string(weighed_tls), idle<Which, true>});
}

// In the order of the workloads, so that the variants to compare run close together.
std::vector<variant> variants() {
  std::vector<variant> all;
  add_echoes<engine::beast>(all);
  add_echoes<engine::beast_tcp_stream>(all);
  add_echoes<engine::troupe>(all);
  add_echoes<engine::lua>(all);
  add_echoes<engine::gorilla>(all);
  add_echoes<engine::tungstenite>(all);
  add_crowds<engine::beast>(all);
  add_crowds<engine::beast_tcp_stream>(all);
  add_crowds<engine::troupe>(all);
  add_crowds<engine::lua>(all);
  add_encrypted<engine::beast>(all);
  add_encrypted<engine::beast_tcp_stream>(all);
  add_encrypted<engine::troupe>(all);
  add_encrypted<engine::lua>(all);
  const auto place = [](const variant& each) {
    std::size_t at = 0;
    for (const std::string_view name : {by_one, by_several, by_many, by_one_tls, to_all,
                                        several_to_all, weighed, weighed_tls, silent, pinged}) {
      if (each.name == name) break;
      ++at;
    }
    return at;
  };
  std::stable_sort(all.begin(), all.end(), [&](const variant& one, const variant& other) {
    return place(one) < place(other);
  });
  return all;
}

}  // namespace

experiment ws() {
  return {
      .asks = "What do a WebSocket message and an idle connection cost a server?",
      .options =
          {{"connections", "clients of the echo with 1 and with several messages in flight", 100, 4,
            1, 100'000, 100},
           {"depth", "messages in flight for each, where there are several", 16, 4, 1, 10'000, 16},
           {"bytes", "of a message", 64, 64, 1, 1'000'000, 64},
           {"many", "clients where there are many, and clients of the broadcast", 1'000, 8, 1,
            100'000, 200},
           {"many_bytes", "of a message where there are many clients", 512, 512, 1, 1'000'000, 512},
           {"idle", "connections whose memory is measured", 4'000, 64, 1, 100'000, 300},
           {"crowd", "idle connections whose CPU time is measured", 10'000, 16, 1, 100'000, 300},
           {"ms", "milliseconds of the measurement, after a quarter of that as warm-up", 2'000, 40,
            1, 3'600'000, 100},
           {"quiet_ms", "milliseconds without messages", 10'000, 100, 1, 3'600'000, 100},
           {"ping_ms", "between two pings, if pings are enabled", 5'000, 60'000, 100, 3'600'000,
            5'000}},
      .variants = variants(),
      .against = "beast",
      .compares_programs = true,
      .bars = bars(),
      .look_for = look_for,
      .answer = answer,
      .means =
          "Most of the cost of a message is system calls, so it pays to combine messages: a client "
          "should not wait for each reply, and a server should write related messages together. A "
          "script adds less than that.",
  };
}

}  // namespace troupe::lab::experiments
