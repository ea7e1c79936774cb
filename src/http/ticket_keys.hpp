// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include <troupe/base/clock.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::http::detail {

/// With what a server encrypts the tickets by which clients resume a session.
struct ticket_key {
  std::array<unsigned char, 16> name{};  // stands in the ticket
  std::array<unsigned char, 32> cipher{};
  std::array<unsigned char, 32> mac{};

  /// Of random bytes. Errors: std::runtime_error if OpenSSL has none.
  [[nodiscard]] static ticket_key random();
  ticket_key() = default;
  ticket_key(const ticket_key&) = default;
  ticket_key& operator=(const ticket_key&) = default;
  ~ticket_key();  // overwrites it
};

/// The keys for tickets, new ones after each period: who gets hold of one can read the sessions of
/// two periods, and no others.
///
///   made ──encrypts, a period──▶ the one before ──decrypts, a period more──▶ overwritten
///
/// It is looked at when there is a handshake: an idle server keeps its last two keys until the next
/// one.
///
/// Threads: any.
class ticket_keys {
 public:
  static constexpr std::chrono::hours usual_period{1};

  explicit ticket_keys(duration period = usual_period) noexcept : period_(period) {}

  /// For a new ticket. Errors: as ticket_key::random().
  [[nodiscard]] ticket_key for_encrypting(time_point now);

  struct found {
    ticket_key key;
    bool is_old;  // the client should get another ticket
  };
  /// For one that a client has. Nothing: there is no such key any more, and the handshake is a
  /// whole one.
  [[nodiscard]] std::optional<found> for_decrypting(std::span<const unsigned char> name,
                                                    time_point now);

 private:
  struct aged {
    ticket_key key;
    time_point made;
  };
  void forget(time_point now) noexcept;

  const duration period_;
  mutex mutex_;  // guards what follows
  std::optional<aged> current_;
  std::optional<aged> before_;
};

}  // namespace troupe::http::detail
