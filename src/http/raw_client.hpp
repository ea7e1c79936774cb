// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: a client that can violate every rule. Every wait has a deadline. If it passes, an
// exception fails the test.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace troupe::http::test {

inline constexpr std::chrono::seconds patience{60};

struct answer {
  unsigned status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

struct ws_frame {
  std::uint8_t opcode = 0;
  bool fin = true;
  std::string payload;

  /// The code of a close frame; 0 if it has none.
  [[nodiscard]] unsigned code() const {
    if (payload.size() < 2) return 0;
    return static_cast<unsigned char>(payload[0]) * 256u + static_cast<unsigned char>(payload[1]);
  }
};

class raw_client {
 public:
  static constexpr std::uint8_t continuation = 0, text = 1, binary = 2, close = 8, ping = 9,
                                pong = 10;

  /// Has its descriptor already, but is not connected.
  raw_client() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (fd_ < 0) fail("socket");
  }
  /// The other end: a connection that a server has accepted.
  struct accepted {
    int fd;
  };
  explicit raw_client(accepted connection) : fd_(connection.fd) {}
  explicit raw_client(std::uint16_t port, int receive_buffer = 0) : raw_client() {
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    connect(port);
  }
  raw_client(raw_client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), in_(std::move(other.in_)) {}
  raw_client& operator=(raw_client&&) = delete;
  virtual ~raw_client() { hang_up(); }

  void connect(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect");
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  // ── Bytes ───────────────────────────────────────────────────────────────────────────────────
  virtual void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) fail("send");
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Sends the bytes that the socket takes at the moment, and returns their number.
  virtual std::size_t send_some(std::string_view bytes) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }

  std::string read_exactly(std::size_t n) {
    while (in_.size() < n) {
      if (!read_more()) throw std::runtime_error("closed after: " + in_);
    }
    std::string result = in_.substr(0, n);
    in_.erase(0, n);
    return result;
  }
  std::string read_until(std::string_view end) {
    std::size_t at;
    while ((at = in_.find(end)) == std::string::npos) {
      if (!read_more()) throw std::runtime_error("closed after: " + in_);
    }
    return read_exactly(at + end.size());
  }
  /// Waits for data and returns it; returns nothing at the end.
  std::string read_some() {
    if (in_.empty()) (void)read_more();
    return std::exchange(in_, {});
  }
  /// Reads up to the end, which may be a reset.
  std::string read_to_end() {
    while (read_more()) {
    }
    return std::exchange(in_, {});
  }
  [[nodiscard]] bool was_reset() const { return reset_; }
  /// Returns true if data, or the end, arrives within that time.
  bool readable_within(std::chrono::milliseconds time) {
    pollfd p{fd_, POLLIN, 0};
    return !in_.empty() || ::poll(&p, 1, static_cast<int>(time.count())) > 0;
  }

  void half_close() { ::shutdown(fd_, SHUT_WR); }
  void hang_up() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void reset() {
    const linger hard{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    hang_up();
  }
  [[nodiscard]] int fd() const { return fd_; }
  // ── HTTP ────────────────────────────────────────────────────────────────────────────────────
  answer read_answer(bool has_body = true) {
    answer a;
    std::string head = read_until("\r\n\r\n");
    a.status = static_cast<unsigned>(std::stoul(head.substr(9, 3)));
    for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const std::size_t end = head.find("\r\n", at);
      const std::size_t colon = head.find(':', at);
      std::string name = head.substr(at, colon - at);
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      a.headers[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    const auto length = a.headers.find("content-length");
    if (has_body && length != a.headers.end()) a.body = read_exactly(std::stoul(length->second));
    return a;
  }
  answer get(const std::string& target, const std::string& more = {}) {
    send("GET " + target + " HTTP/1.1\r\nHost: here\r\n" + more + "\r\n");
    return read_answer();
  }

  // ── WebSocket ───────────────────────────────────────────────────────────────────────────────
  void ask_upgrade(const std::string& target, const std::string& more = {}) {
    send("GET " + target +
         " HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
         more + "\r\n");
  }
  answer upgrade(const std::string& target, const std::string& more = {}) {
    ask_upgrade(target, more);
    return read_answer();
  }
  static std::string frame(std::uint8_t opcode, std::string_view payload, bool fin = true,
                           std::uint8_t reserved = 0, bool masked = true) {
    std::string f;
    f += static_cast<char>((fin ? 0x80 : 0) | reserved | opcode);
    const auto mask_bit = static_cast<std::uint8_t>(masked ? 0x80 : 0);
    if (payload.size() < 126) {
      f += static_cast<char>(mask_bit | payload.size());
    } else if (payload.size() < 65536) {
      f += static_cast<char>(mask_bit | 126);
      f += static_cast<char>(payload.size() >> 8);
      f += static_cast<char>(payload.size() & 0xff);
    } else {
      f += static_cast<char>(mask_bit | 127);
      for (int shift = 56; shift >= 0; shift -= 8) {
        f += static_cast<char>((std::uint64_t{payload.size()} >> shift) & 0xff);
      }
    }
    if (!masked) return f.append(payload);
    constexpr std::string_view key = "\x37\xfa\x21\x3d";
    f += key;
    for (std::size_t i = 0; i < payload.size(); ++i) {
      f += static_cast<char>(payload[i] ^ key[i % 4]);
    }
    return f;
  }
  static std::string close_payload(unsigned code, std::string_view reason = {}) {
    std::string p{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
    return p.append(reason);
  }
  void say(std::string_view words) { send(frame(text, words)); }
  ws_frame read_frame() {
    const std::string head = read_exactly(2);
    ws_frame f;
    f.fin = (head[0] & 0x80) != 0;
    f.opcode = static_cast<std::uint8_t>(head[0] & 0x0f);
    std::size_t size = static_cast<std::uint8_t>(head[1]) & 0x7f;
    if (size >= 126) {
      const std::string more = read_exactly(size == 126 ? 2 : 8);
      size = 0;
      for (const char c : more) size = size * 256 + static_cast<unsigned char>(c);
    }
    f.payload = read_exactly(size);
    return f;
  }
  std::string hear() { return read_frame().payload; }
  /// Reads the next close frame, and replies to it.
  ws_frame read_close() {
    for (;;) {
      const ws_frame f = read_frame();
      if (f.opcode != close) continue;
      send_some(frame(close, f.payload));
      return f;
    }
  }

 protected:
  /// Like recv().
  virtual ssize_t receive(char* into, std::size_t size) { return ::recv(fd_, into, size, 0); }
  /// Whether there is data in addition to that of the socket.
  virtual bool has_more() { return false; }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw std::system_error(errno, std::system_category(), what);
  }
  bool read_more() {
    pollfd p{fd_, POLLIN, 0};
    const bool is_there = has_more();
    const int ready =
        is_there ? 1 : ::poll(&p, 1, static_cast<int>(std::chrono::milliseconds{patience}.count()));
    if (ready == 0) throw std::runtime_error("nothing more came after: " + in_);
    char buffer[16 * 1024];
    const ssize_t got = receive(buffer, sizeof buffer);
    if (got > 0) in_.append(buffer, static_cast<std::size_t>(got));
    reset_ = got < 0;
    return got > 0;
  }

  int fd_ = -1;
  bool reset_ = false;
  std::string in_;
};

}  // namespace troupe::http::test
