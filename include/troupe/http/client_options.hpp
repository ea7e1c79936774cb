// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/http/limits.hpp>

namespace troupe::http {

/// The hosts that a client may connect to: all, none, or those of a list.
///
///   "example.org:443"    this host, on this port
///   "example.org"        this host, on any port
///   "*.example.org:443"  all its subdomains, but not the host itself
///   "10.0.0.7:80", "[::1]:80"
///
/// The host in the URL is compared, ignoring case; the address that its name resolves to is not.
/// Redirects are checked in the same way.
///
/// Threads: a plain value.
class allowed_hosts {
 public:
  [[nodiscard]] static allowed_hosts all() { return allowed_hosts(true); }
  [[nodiscard]] static allowed_hosts none() { return allowed_hosts(false); }
  /// Errors: std::invalid_argument that names the invalid entry and the reason.
  [[nodiscard]] static allowed_hosts only(const std::vector<std::string>& these);

  [[nodiscard]] bool allow(std::string_view host, std::uint16_t port) const noexcept;
  [[nodiscard]] bool are_all() const noexcept { return all_; }
  /// The entries as given.
  [[nodiscard]] const std::vector<std::string>& list() const noexcept { return given_; }

 private:
  struct pattern {
    std::string host;        // in lower case; subdomains with a leading dot: ".example.org"
    std::uint16_t port = 0;  // 0: any
  };

  explicit allowed_hosts(bool all) noexcept : all_(all) {}

  bool all_;
  std::vector<std::string> given_;
  std::vector<pattern> patterns_;
};

/// The permissions and limits of an http::client. All limits are enforced; exceeding one gives an
/// error that names it.
struct client_options {
  allowed_hosts allowed = allowed_hosts::all();

  /// Connections for requests, idle ones included: in total, and to one host and port.
  std::size_t connections_max = 64;
  std::size_t connections_per_host_max = 8;
  /// Requests that wait for a connection; one more fails at once as overloaded.
  std::size_t queue_max = 1'024;
  /// Bytes of all waiting and active requests, of the received parts of their responses until the
  /// `fetched` is destroyed, and of the requests for its WebSockets. Exceeding it fails as
  /// overloaded.
  std::size_t bytes_max = 64 * 1024 * 1024;
  /// Open WebSockets; one more fails as overloaded.
  std::size_t websockets_max = 1'024;

  /// From the start of name resolution to the end of the TLS handshake.
  std::chrono::milliseconds connect_timeout{10'000};
  /// How long a connection without a request is kept; 0: not at all.
  std::chrono::milliseconds keep_alive_timeout{30'000};

  /// The trusted certificate authorities for https: PEM files of certificates. Empty: those of the
  /// operating system. Verification cannot be disabled.
  std::filesystem::path trusted_certificates = {};

  std::string user_agent = "Troupe";

  /// The limits for WebSockets, as in a server: handshake_timeout, request_timeout, message_bytes,
  /// send_queue_bytes, send_queues_bytes, partial_messages_bytes, receive_window, idle_timeout,
  /// close_timeout and header_bytes. The other members are ignored.
  http::limits websocket_limits = {};
};

}  // namespace troupe::http
