// SPDX-License-Identifier: Apache-2.0
//
// A connection that reconnects with exponential backoff. It is an actor that connects in its
// constructor, and fails if it cannot connect or the connection breaks; its supervisor restarts it.
// Here the server starts late, and then disconnects once.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

namespace {

using namespace std::chrono_literals;

[[noreturn]] void fail(const char* doing) {
  throw std::runtime_error(std::string(doing) + ": " + std::strerror(errno));
}

class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {
    if (fd_ < 0) fail("cannot create a socket");
  }
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  operator int() const noexcept { return fd_; }

 private:
  int fd_;
};

// ── The connection ───────────────────────────────────────────────────────────────────────────────

struct line {
  std::string text;
};

struct read_on {};

// Reads lines and sends them to `to`. It blocks, so it has its own thread.
class connection : public troupe::actor {
 public:
  connection(const sockaddr_in& server, troupe::recipient<line> to)
      : to_(std::move(to)), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) {
      fail("cannot connect");
    }
  }

  void on_start() { self(this).send(read_on{}); }
  void on(read_on) {
    char bytes[256];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got < 0) fail("cannot read");
    if (got == 0) throw std::runtime_error("the server has closed the connection");
    to_.send(line{std::string(bytes, static_cast<std::size_t>(got))});
    self(this).send(read_on{});
  }

 private:
  const troupe::recipient<line> to_;
  const descriptor socket_;
};

// Stops after the second line.
class printer : public troupe::actor {
 public:
  void on(const line& m) {
    std::printf("read: %s\n", m.text.c_str());
    if (++lines_ == 2) stop();
  }

 private:
  int lines_ = 0;
};

// ── A server that starts late and disconnects ────────────────────────────────────────────────────

descriptor bind_somewhere(sockaddr_in& where) {
  descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  where = {};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof where;
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&where), bytes) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&where), &bytes) != 0) {
    fail("cannot bind");
  }
  return listener;
}

descriptor serve(const descriptor& listener, const std::string& text) {
  descriptor client(::accept(listener, nullptr, nullptr));
  (void)!::send(client, text.data(), text.size(), MSG_NOSIGNAL);
  return client;
}

}  // namespace

int main() {
  sockaddr_in where{};
  const descriptor listener = bind_somewhere(where);  // not listening yet

  const auto begun = std::chrono::steady_clock::now();
  troupe::system system({.on_failure = [begun](const troupe::failure& f) {
    const auto since = std::chrono::steady_clock::now() - begun;
    std::printf("%5.0f ms: %.*s\n", std::chrono::duration<double, std::milli>(since).count(),
                static_cast<int>(f.what.size()), f.what.data());
  }});
  const auto reader = system.spawn<printer>();

  const troupe::supervision rules{.max_restarts = troupe::supervision::unlimited,
                                  .min_backoff = 10ms,
                                  .max_backoff = 1s,
                                  .jitter = 0.2};
  auto spec = troupe::child<connection>("connection", where, troupe::recipient<line>(reader));
  spec.options({.where = troupe::own_thread});
  const auto top = system.spawn<troupe::supervisor>(rules, std::vector{spec});

  // The fourth attempt finds a listening server.
  while (system.statistics().failures < 3) std::this_thread::sleep_for(1ms);
  if (::listen(listener, 4) != 0) return 1;
  serve(listener, "hello");
  const descriptor second = serve(listener, "hello again");

  reader.join();
  ::shutdown(second, SHUT_RDWR);
  top.stop();
  top.join();
  std::printf("%llu restarts\n", static_cast<unsigned long long>(system.statistics().restarts));
}
