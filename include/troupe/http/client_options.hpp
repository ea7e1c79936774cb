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

/// The hosts that a client may connect to: all of them, or those of a list.
///
///   "example.org:443"    that host, on that port
///   "example.org"        on any port
///   "*.example.org:443"  all below it, and not itself
///   "10.0.0.7:80", "[::1]:80"
///
/// A host is what stands in the URL, in any case; what its name stands for is not looked at. Each redirect is looked
/// at as the URL was.
///
/// Threads: a plain value.
class allowed_hosts {
 public:
  [[nodiscard]] static allowed_hosts all() { return allowed_hosts(true); }
  [[nodiscard]] static allowed_hosts none() { return allowed_hosts(false); }
  /// Errors: std::invalid_argument that says which is wrong, and why.
  [[nodiscard]] static allowed_hosts only(const std::vector<std::string>& these);

  [[nodiscard]] bool allow(std::string_view host, std::uint16_t port) const noexcept;
  [[nodiscard]] bool are_all() const noexcept { return all_; }
  /// As they were given.
  [[nodiscard]] const std::vector<std::string>& list() const noexcept { return given_; }

 private:
  struct pattern {
    std::string host;        // in lower case; of those below one, with its dot: ".example.org"
    std::uint16_t port = 0;  // 0: any
  };

  explicit allowed_hosts(bool all) noexcept : all_(all) {}

  bool all_;
  std::vector<std::string> given_;
  std::vector<pattern> patterns_;
};

/// What an http::client may do, and how much of it at once. All limits are enforced: what is above them has an error
/// that says so.
struct client_options {
  allowed_hosts allowed = allowed_hosts::all();

  /// Connections for requests at once, those included that are kept for the next; and of these, to one host and port.
  std::size_t connections_max = 64;
  std::size_t connections_per_host_max = 8;
  /// Requests that wait for one of them; one more is overloaded at once.
  std::size_t queue_max = 1'024;
  /// WebSockets at once; one more is overloaded.
  std::size_t websockets_max = 1'024;

  /// From the look-up of the name to the end of the handshake of TLS.
  std::chrono::milliseconds connect_time{10'000};
  /// A connection without a request is kept for so long; 0: none is kept.
  std::chrono::milliseconds keep_time{30'000};

  /// Whom to believe who an https host is: PEM files of certificates. Empty: those that the system trusts. There is
  /// no way not to look.
  std::filesystem::path trusted_certificates = {};

  std::string user_agent = "Troupe";

  /// Of WebSockets, as a server has them: handshake_time, message_bytes, send_queue_bytes, receive_window, idle_time,
  /// close_time and header_bytes. The others are not looked at.
  http::limits websocket_limits = {};
};

}  // namespace troupe::http
