// SPDX-License-Identifier: Apache-2.0

// The cost of TLS for a server: memory of an idle connection, and processor time of a message and
// of a handshake, with and without it. The server is a separate process, so that the clients do not
// count.
//
//   idle       resident bytes per WebSocket that has sent one message of 64 bytes, session included
//   crowd      100 clients, 1 message of 64 bytes each at a time: nanoseconds of the server per
//              message, threads and kernel
//   flood      100 clients, 16 messages of each in flight
//   large      10 clients, 1 message of 16,000 bytes each at a time
//   handshake  connections with one request each: microseconds of the server per connection
//
//   tls_bench [--smoke]

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/http/http.hpp>
#include <troupe/troupe.hpp>

#include "test_certificate.hpp"
#include "tls_raw_client.hpp"

namespace {

using namespace troupe::http::test;

class echo : public troupe::actor {
 public:
  explicit echo(troupe::http::websocket client) : client_(std::move(client)) {}
  void on(troupe::http::text m) { client_.send(std::move(m.data)); }

 private:
  troupe::http::websocket client_;
};

struct figures {
  std::size_t resident_bytes;
  std::uint64_t nanoseconds;
};

figures own_figures() {
  std::size_t all = 0, resident = 0;
  std::ifstream{"/proc/self/statm"} >> all >> resident;
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(t.tv_usec) * 1000;
  };
  return {resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)),
          of(used.ru_utime) + of(used.ru_stime)};
}

void must(bool is) {
  if (!is) throw std::runtime_error("the processes have lost each other");
}

/// A server in a process of its own, which reports its figures on request.
class server_process {
 public:
  explicit server_process(const troupe::http::tls_options& tls) {
    int questions[2], answers[2];
    must(::pipe(questions) == 0 && ::pipe(answers) == 0);
    id_ = ::fork();
    must(id_ >= 0);
    if (id_ == 0) {
      ::close(questions[1]);
      ::close(answers[0]);
      serve(tls, questions[0], answers[1]);
      ::_exit(0);
    }
    ::close(questions[0]);
    ::close(answers[1]);
    ask_ = questions[1];
    hear_ = answers[0];
    must(::read(hear_, &port_, sizeof port_) == sizeof port_);
  }
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process() {
    ::close(ask_);
    ::close(hear_);
    ::waitpid(id_, nullptr, 0);
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] figures now() const {
    figures f{};
    must(::write(ask_, "?", 1) == 1 && ::read(hear_, &f, sizeof f) == sizeof f);
    return f;
  }

 private:
  static void serve(const troupe::http::tls_options& tls, int questions, int answers) {
    troupe::system system;
    troupe::http::options o;
    o.port = 0;
    o.tls = tls;
    o.limits.connections_max = o.limits.connections_per_address_max = 100'000;
    o.limits.tls_handshakes_per_second = 0;  // all clients have one address
    troupe::http::server server{system, o};
    server.websocket<echo>("/echo");
    server.route("GET", "/hello", [](const troupe::http::request&) {
      return troupe::http::response::text("hello\n");
    });
    server.start();
    const std::uint16_t port = server.port();
    must(::write(answers, &port, sizeof port) == sizeof port);
    char question = 0;
    while (::read(questions, &question, 1) == 1) {
      const figures f = own_figures();
      must(::write(answers, &f, sizeof f) == sizeof f);
    }
  }

  ::pid_t id_;
  int ask_ = -1, hear_ = -1;
  std::uint16_t port_ = 0;
};

class bench {
 public:
  bench(const char* name, troupe::http::tls_options tls, std::size_t scale)
      : name_(name), tls_(std::move(tls)), scale_(scale) {}

  void run() const {
    idle(scale_ >= 100 ? 1000 : 20);
    echo_with("crowd", 100, 1, 64, 10 * scale_);
    echo_with("flood", 100, 16, 64, 2 * scale_);
    echo_with("large", 10, 1, 16'000, 20 * scale_);
    handshakes(20 * scale_);
  }

 private:
  using client = std::unique_ptr<raw_client>;

  [[nodiscard]] client connect(std::uint16_t port) const {
    if (tls_.is_set()) return std::make_unique<tls_raw_client>(port);
    return std::make_unique<raw_client>(port);
  }
  [[nodiscard]] std::vector<client> open(std::size_t count, std::uint16_t port) const {
    std::vector<client> all;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(connect(port));
      all.back()->upgrade("/echo");
    }
    return all;
  }
  static void exchange(const std::vector<client>& all, const std::string& batch,
                       std::size_t at_once) {
    for (const client& c : all) c->send(batch);
    for (const client& c : all) {
      for (std::size_t k = 0; k < at_once; ++k) c->hear();
    }
  }

  void idle(std::size_t count) const {
    const server_process server(tls_);
    const std::string one = raw_client::frame(raw_client::text, std::string(64, 'x'));
    { exchange(open(10, server.port()), one, 1); }  // state that is created once
    const figures before = server.now();
    const std::vector<client> all = open(count, server.port());
    exchange(all, one, 1);
    const figures after = server.now();
    std::printf("%-6s idle       %9zu bytes each of %zu\n", name_,
                (after.resident_bytes - before.resident_bytes) / count, count);
  }

  void echo_with(const char* what, std::size_t count, std::size_t at_once, std::size_t size,
                 std::size_t rounds) const {
    const server_process server(tls_);
    const std::vector<client> all = open(count, server.port());
    std::string batch;
    for (std::size_t i = 0; i < at_once; ++i) {
      batch += raw_client::frame(raw_client::text, std::string(size, 'x'));
    }
    exchange(all, batch, at_once);
    const figures before = server.now();
    for (std::size_t i = 0; i < rounds; ++i) exchange(all, batch, at_once);
    const figures after = server.now();
    std::printf("%-6s %-10s %9llu ns\n", name_, what,
                static_cast<unsigned long long>((after.nanoseconds - before.nanoseconds) /
                                                (count * at_once * rounds)));
  }

  void handshakes(std::size_t count) const {
    const server_process server(tls_);
    connect(server.port())->get("/hello");
    const figures before = server.now();
    for (std::size_t i = 0; i < count; ++i) connect(server.port())->get("/hello");
    const figures after = server.now();
    std::printf("%-6s handshake  %9.1f us\n", name_,
                static_cast<double>(after.nanoseconds - before.nanoseconds) / 1000 /
                    static_cast<double>(count));
  }

  const char* const name_;
  const troupe::http::tls_options tls_;
  const std::size_t scale_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view{argv[1]} == "--smoke";
  const std::size_t scale = smoke ? 1 : 100;
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // or a fork would print buffered text twice
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  const certificate_folder folder;
  bench("plain", {}, scale).run();
  bench("ecdsa", folder.write("ecdsa", test_certificate{}), scale).run();
  bench("rsa", folder.write("rsa", test_certificate({.is_rsa = true})), scale).run();
}
