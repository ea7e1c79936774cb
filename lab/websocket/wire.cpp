// SPDX-License-Identifier: Apache-2.0
#include "lab/websocket/wire.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <utility>

#include "lab/lightness/processes.hpp"

namespace troupe::lab {

namespace {

constexpr timeval patience{.tv_sec = 20, .tv_usec = 0};

[[noreturn]] void refuse_tls(const char* what) {
  std::array<char, 256> why{};
  ERR_error_string_n(ERR_get_error(), why.data(), why.size());
  throw std::runtime_error(std::string(what) + ": " + why.data());
}

}  // namespace

client_context make_client_context() {
  client_context made(SSL_CTX_new(TLS_client_method()));
  if (made == nullptr) refuse_tls("cannot set up TLS");
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_mode(made.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                   SSL_MODE_RELEASE_BUFFERS);
  return made;
}

wire::wire(std::uint16_t port, SSL_CTX* context)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (socket_ < 0) refuse(errno, "cannot create a socket");
  try {
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      refuse(errno, "cannot connect to the server");
    }
    if (context == nullptr) return;
    ssl_.reset(SSL_new(context));
    if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), socket_) != 1) refuse_tls("cannot set up TLS");
    if (SSL_connect(ssl_.get()) != 1) refuse_tls("the server does not speak TLS");
  } catch (...) {
    ssl_.reset();
    ::close(socket_);
    throw;
  }
}

wire::wire(wire&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), ssl_(std::move(other.ssl_)) {}

wire::~wire() {
  if (socket_ >= 0) ::close(socket_);
}

void wire::stop_blocking() {
  const int flags = ::fcntl(socket_, F_GETFL);
  if (flags < 0 || ::fcntl(socket_, F_SETFL, flags | O_NONBLOCK) != 0) {
    refuse(errno, "cannot make a socket non-blocking");
  }
}

// Interprets the result of SSL_read() or SSL_write().
std::size_t wire::outcome_of(int result, const char* doing) const {
  if (result > 0) return static_cast<std::size_t>(result);
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return 0;
    case SSL_ERROR_ZERO_RETURN:
      throw std::runtime_error("the server has closed a connection");
    default:
      refuse_tls(doing);
  }
}

std::size_t wire::read(std::span<char> into) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    return outcome_of(SSL_read(ssl_.get(), into.data(), static_cast<int>(into.size())),
                      "cannot read from a connection");
  }
  const ssize_t n = ::recv(socket_, into.data(), into.size(), 0);
  if (n > 0) return static_cast<std::size_t>(n);
  if (n == 0) throw std::runtime_error("the server has closed a connection");
  if (errno == EAGAIN || errno == EINTR) return 0;
  refuse(errno, "cannot read from a connection");
}

std::size_t wire::write(std::string_view bytes) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    return outcome_of(SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())),
                      "cannot write to a connection");
  }
  const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n >= 0) return static_cast<std::size_t>(n);
  if (errno == EAGAIN || errno == EINTR) return 0;
  refuse(errno, "cannot write to a connection");
}

}  // namespace troupe::lab
