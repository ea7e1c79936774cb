// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/http/limits.hpp>
#include <troupe/sync/mutex.hpp>

#include "client_address.hpp"
#include "tally.hpp"

namespace troupe::http::detail {

/// The events that http::limits limits per second.
enum class rate : std::uint8_t { connections, tls_handshakes, requests, messages, received_bytes };

/// The token buckets of all client addresses: each address may use `…_per_second` of a kind, and
/// has up to `…_burst` of them ready.
///
/// A bucket is stored as the time at which it will be full (the generic cell rate algorithm of ATM
/// traffic management): a use moves it later, and it may not be later than a burst from now. A full
/// bucket needs no memory, so an address whose buckets are full is forgotten.
///
/// Threads:   any.
/// Invariant: at most `rate_addresses_max` addresses, which take at most `rate_addresses_bytes`.
/// Cost:      one test for a kind that has no limit; otherwise one lookup under a mutex that only a
///            few addresses share. Memory is allocated for new addresses only.
class rate_limiter {
 public:
  /// The longest time that a connection waits, however much its address has overdrawn.
  static constexpr duration longest_pause = std::chrono::minutes(10);

  /// `loops`: how many threads there are.
  explicit rate_limiter(const http::limits& of, std::size_t loops = 1);
  rate_limiter(const rate_limiter&) = delete;
  rate_limiter& operator=(const rate_limiter&) = delete;
  ~rate_limiter();

  [[nodiscard]] bool limits(rate what) const noexcept { return rule_of(what).per_second != 0; }

  /// Takes one. Zero: taken. Otherwise nothing was taken, and it says how long until one is there.
  [[nodiscard]] duration take(rate what, const client_key& who) noexcept {
    return limits(what) ? use(what, who, 1, false) : duration{0};
  }
  /// Takes that many, which have been used already. Returns how long until the bucket is not
  /// overdrawn any more.
  [[nodiscard]] duration charge(rate what, const client_key& who, std::uint64_t amount) noexcept {
    return limits(what) ? use(what, who, amount, true) : duration{0};
  }

  /// How many addresses it remembers.
  [[nodiscard]] std::size_t addresses() const noexcept;
  /// The memory for that.
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// How many were forgotten, although their buckets were not full, for others.
  [[nodiscard]] std::uint64_t evicted() const noexcept { return evicted_.value(); }

 private:
  static constexpr std::size_t kinds = 5;
  class table;

  struct rule {
    std::uint64_t per_second = 0;  // 0: no limit
    std::int64_t burst = 0;        // in nanoseconds
  };

  [[nodiscard]] const rule& rule_of(rate what) const noexcept {
    return rules_[static_cast<std::size_t>(what)];
  }
  [[nodiscard]] duration use(rate what, const client_key& who, std::uint64_t amount,
                             bool may_overdraw) noexcept;

  std::array<rule, kinds> rules_;
  const client_key_hash hash_;
  std::vector<std::unique_ptr<table>> tables_;  // as many as a power of two; none without a limit
  counter evicted_;
};

/// The right to begin a TLS handshake, for one connection.
///
/// Threads: one at a time.
struct handshake_quota {
  rate_limiter* of = nullptr;  // null: no limit
  client_key who{};

  [[nodiscard]] bool take() const noexcept {
    return of == nullptr || of->take(rate::tls_handshakes, who) == duration{0};
  }
};

}  // namespace troupe::http::detail
