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

/// A key that encrypts the tickets by which clients resume a session.
struct ticket_key {
  std::array<unsigned char, 16> name{};  // part of the ticket
  std::array<unsigned char, 32> cipher{};
  std::array<unsigned char, 32> mac{};

  /// Made of random bytes. Errors: std::runtime_error if OpenSSL fails to supply them.
  [[nodiscard]] static ticket_key random();
  ticket_key() = default;
  ticket_key(const ticket_key&) = default;
  ticket_key& operator=(const ticket_key&) = default;
  ~ticket_key();  // overwrites it
};

/// The keys for tickets, replaced after each period. An attacker who obtains a key can read the
/// sessions of two periods, and no others.
///
///   made ──encrypts, a period──▶ the one before ──decrypts, a period more──▶ overwritten
///
/// Keys are checked at each handshake, so an idle server keeps its last two keys until the next
/// one.
///
/// Threads: any.
class ticket_keys {
 public:
  static constexpr std::chrono::hours usual_period{1};

  explicit ticket_keys(duration period = usual_period) noexcept : period_(period) {}

  /// The key for a new ticket. Errors: as ticket_key::random().
  [[nodiscard]] ticket_key for_encrypting(time_point now);

  struct found {
    ticket_key key;
    bool is_old;  // the client should get another ticket
  };
  /// The key of a client's ticket. Nothing if the key no longer exists; then a full handshake
  /// follows.
  [[nodiscard]] std::optional<found> for_decrypting(std::span<const unsigned char> name,
                                                    time_point now);

 private:
  struct aged {
    ticket_key key;
    time_point made;
  };
  void forget(time_point now) noexcept;

  const duration period_;
  mutex mutex_;  // guards the members below
  std::optional<aged> current_;
  std::optional<aged> before_;
};

}  // namespace troupe::http::detail
