// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: a server that can violate every rule.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "handshake.hpp"
#include "raw_client.hpp"

namespace troupe::http::test {

/// Serves each connection on a thread of its own, by a function that gets the connection and its
/// number, from 1. An exception of the function, such as that of an expired wait, ends the
/// connection.
class raw_server {
 public:
  using serving = std::function<void(raw_client& peer, int number)>;

  explicit raw_server(serving how)
      : how_(std::move(how)), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&at), size) != 0 || ::listen(fd_, 64) != 0 ||
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
      throw std::system_error(errno, std::generic_category(), "raw_server");
    }
    port_ = ntohs(at.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~raw_server() {
    ::shutdown(fd_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& each : serving_) each.join();
    ::close(fd_);
  }
  raw_server(const raw_server&) = delete;
  raw_server& operator=(const raw_server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url(const std::string& target = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + target;
  }
  [[nodiscard]] std::string websocket_url(const std::string& target = "/") const {
    return "ws://127.0.0.1:" + std::to_string(port_) + target;
  }

  /// Reads the head of a request, and returns it.
  static std::string read_head(raw_client& from) { return from.read_until("\r\n\r\n"); }

  /// Accepts a WebSocket. Returns the request.
  static std::string agree(raw_client& with, const std::string& more = {}) {
    const std::string head = read_head(with);
    constexpr std::string_view name = "Sec-WebSocket-Key: ";
    const std::string key = head.substr(head.find(name) + name.size(), 24);
    with.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: " +
        detail::websocket_accept(key) + "\r\n" + more + "\r\n");
    return head;
  }

  /// The next frame of a client, unmasked. Throws if it has no mask.
  static ws_frame read_masked(raw_client& from) {
    const std::string head = from.read_exactly(2);
    ws_frame f;
    f.fin = (head[0] & 0x80) != 0;
    f.opcode = static_cast<std::uint8_t>(head[0] & 0x0f);
    const auto second = static_cast<std::uint8_t>(head[1]);
    if ((second & 0x80) == 0) throw std::runtime_error("an unmasked frame from a client");
    std::size_t size = second & 0x7f;
    if (size >= 126) {
      const std::string more = from.read_exactly(size == 126 ? 2 : 8);
      size = 0;
      for (const char c : more) size = size * 256 + static_cast<unsigned char>(c);
    }
    const std::string key = from.read_exactly(4);
    f.payload = from.read_exactly(size);
    for (std::size_t i = 0; i < size; ++i)
      f.payload[i] = static_cast<char>(f.payload[i] ^ key[i % 4]);
    return f;
  }

 private:
  void accept_all() {
    for (int number = 1;; ++number) {
      const int connection = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      serving_.emplace_back([this, connection, number] {
        raw_client peer(raw_client::accepted{connection});
        try {
          how_(peer, number);
        } catch (const std::exception&) {
        }
      });
    }
  }

  const serving how_;
  const int fd_;
  std::uint16_t port_ = 0;
  std::thread accepting_;
  std::vector<std::thread> serving_;  // used by the accepting thread until it is joined
};

}  // namespace troupe::http::test
