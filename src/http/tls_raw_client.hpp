// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: a client with TLS that can violate every rule. It uses OpenSSL over its socket, and
// nothing of this layer.

#include <openssl/ssl.h>
#include <sys/time.h>

#include <csignal>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "raw_client.hpp"

namespace troupe::http::test {

class tls_raw_client : public raw_client {
 public:
  using prepare = std::function<void(SSL_CTX*)>;

  /// Accepts every certificate, unless `how` turns on verification.
  explicit tls_raw_client(std::uint16_t port, const prepare& how = {}, SSL_SESSION* again = nullptr)
      : raw_client(port), context_(SSL_CTX_new(TLS_client_method())) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes as if to a file, which may raise SIGPIPE
    timeval most{};
    most.tv_sec = patience.count();
    ::setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    if (how) how(context_.get());
    ssl_.reset(SSL_new(context_.get()));
    if (again != nullptr) SSL_set_session(ssl_.get(), again);
    SSL_set_fd(ssl_.get(), fd());
    SSL_set_tlsext_host_name(ssl_.get(), "localhost");
    if (SSL_connect(ssl_.get()) != 1) throw std::runtime_error("the handshake has failed");
  }
  tls_raw_client(tls_raw_client&&) noexcept = default;

  void send(std::string_view bytes) override {
    std::size_t sent = 0;
    if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent) != 1) {
      throw std::system_error(errno, std::system_category(), "SSL_write");
    }
  }
  std::size_t send_some(std::string_view bytes) override {
    std::size_t sent = 0;
    (void)SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
    return sent;
  }

  /// The server has announced the end of its data.
  [[nodiscard]] bool heard_farewell() const {
    return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  void say_farewell() { SSL_shutdown(ssl_.get()); }
  [[nodiscard]] SSL* ssl() const { return ssl_.get(); }
  [[nodiscard]] std::string subject() const {
    char name[256] = "";
    X509_NAME_oneline(X509_get_subject_name(SSL_get0_peer_certificate(ssl_.get())), name,
                      sizeof name);
    return name;
  }

 protected:
  ssize_t receive(char* into, std::size_t size) override {
    std::size_t got = 0;
    if (SSL_read_ex(ssl_.get(), into, size, &got) == 1) return static_cast<ssize_t>(got);
    return SSL_get_error(ssl_.get(), 0) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
  }
  bool has_more() override { return SSL_pending(ssl_.get()) > 0; }

 private:
  struct freeing {
    void operator()(SSL_CTX* what) const noexcept { SSL_CTX_free(what); }
    void operator()(SSL* what) const noexcept { SSL_free(what); }
  };
  std::unique_ptr<SSL_CTX, freeing> context_;
  std::unique_ptr<SSL, freeing> ssl_;
};

}  // namespace troupe::http::test
