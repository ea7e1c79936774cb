// SPDX-License-Identifier: Apache-2.0

// The cost of a message through a WebSocket, with server and client in one process, over the
// loopback.
//
//   pingpong   1 client, 1 message at a time
//   crowd      100 clients, 1 message each at a time
//   flood      100 clients, 16 messages of each in flight
//   broadcast  100 clients, each message of one goes to all
//   requests   100 clients, 1 HTTP request each at a time
//
//   echo_bench [--smoke]
//
// Prints one line each: name and thousand messages per second; for pingpong also the microseconds
// of a round trip.

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/http/http.hpp>
#include <troupe/troupe.hpp>

#include "raw_client.hpp"

namespace {

using troupe::http::test::raw_client;

class echo : public troupe::actor {
 public:
  explicit echo(troupe::http::websocket client) : client_(std::move(client)) {}
  void on(troupe::http::text m) { client_.send(std::move(m.data)); }

 private:
  troupe::http::websocket client_;
};

/// Sends each message to all sessions, as one shared string.
class hall : public troupe::actor {
 public:
  struct enter {
    troupe::http::websocket who;
  };
  struct say {
    std::string what;
  };

  void on(enter m) { all_.push_back(std::move(m.who)); }
  void on(say m) {
    const auto what = std::make_shared<const std::string>(std::move(m.what));
    for (const auto& one : all_) one.send(what);
  }

 private:
  std::vector<troupe::http::websocket> all_;
};

class visitor : public troupe::actor {
 public:
  visitor(troupe::http::websocket client, troupe::ref<hall> in) : in_(std::move(in)) {
    in_.send(hall::enter{std::move(client)});
  }
  void on(troupe::http::text m) { in_.send(hall::say{std::move(m.data)}); }

 private:
  troupe::ref<hall> in_;
};

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void report(const char* name, std::size_t messages, double seconds) {
  std::printf("%-10s %8.1f k/s\n", name, static_cast<double>(messages) / seconds / 1000);
}

class bench {
 public:
  bench() {
    server_.websocket<echo>("/echo");
    server_.websocket<visitor>("/hall", system_.spawn<hall>());
    server_.route("GET", "/hello", [](const troupe::http::request&) {
      return troupe::http::response::text("hello\n");
    });
    server_.start();
  }

  void pingpong(std::size_t rounds) {
    const double seconds = echo_with(1, 1, rounds);
    report("pingpong", rounds, seconds);
    std::printf("%-10s %8.1f us\n", "", seconds / static_cast<double>(rounds) * 1e6);
  }
  void crowd(std::size_t rounds) { report("crowd", 100 * rounds, echo_with(100, 1, rounds)); }
  void flood(std::size_t rounds) { report("flood", 100 * 16 * rounds, echo_with(100, 16, rounds)); }
  void broadcast(std::size_t rounds) {
    std::vector<raw_client> clients = open(100, "/hall");
    clients[0].say("0");
    for (raw_client& c : clients) c.hear();
    const double seconds = seconds_of([&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        clients[0].send(message_);
        for (raw_client& c : clients) c.hear();
      }
    });
    report("broadcast", 100 * rounds, seconds);
  }
  void requests(std::size_t rounds) {
    std::vector<raw_client> clients;
    for (int i = 0; i < 100; ++i) clients.emplace_back(server_.port());
    const double seconds = seconds_of([&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        for (raw_client& c : clients) c.send("GET /hello HTTP/1.1\r\nHost: here\r\n\r\n");
        for (raw_client& c : clients) c.read_answer();
      }
    });
    report("requests", 100 * rounds, seconds);
  }

 private:
  std::vector<raw_client> open(std::size_t n, const char* path) const {
    std::vector<raw_client> clients;
    for (std::size_t i = 0; i < n; ++i) {
      clients.emplace_back(server_.port());
      clients.back().upgrade(path);
    }
    return clients;
  }
  double echo_with(std::size_t n, std::size_t at_once, std::size_t rounds) const {
    std::vector<raw_client> clients = open(n, "/echo");
    std::string batch;
    for (std::size_t i = 0; i < at_once; ++i) batch += message_;
    return seconds_of([&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        for (raw_client& c : clients) c.send(batch);
        for (raw_client& c : clients) {
          for (std::size_t k = 0; k < at_once; ++k) c.hear();
        }
      }
    });
  }

  const std::string message_ = raw_client::frame(raw_client::text, std::string(64, 'x'));
  troupe::system system_;
  troupe::http::server server_{system_, {.port = 0}};
};

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view{argv[1]} == "--smoke";
  const std::size_t scale = smoke ? 1 : 100;
  bench b;
  b.pingpong(200 * scale);
  b.crowd(5 * scale);
  b.flood(2 * scale);
  b.broadcast(5 * scale);
  b.requests(5 * scale);
}
