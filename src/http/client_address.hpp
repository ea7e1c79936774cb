// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe::http::detail {

using ip_address = boost::asio::ip::address;

/// The IPv4 address of a client that an IPv6 socket reports as ::ffff:a.b.c.d; other addresses as
/// they are.
[[nodiscard]] ip_address unmapped(const ip_address& from);

/// An IPv4 or IPv6 address without brackets, port and zone, unmapped. Nothing for any other text.
[[nodiscard]] std::optional<ip_address> parse_ip(std::string_view text);

/// The addresses that limits treat as one client: an IPv4 address, or an IPv6 network of 64 bits,
/// because an IPv6 client owns at least that.
struct client_key {
  std::uint64_t bits = 0;
  bool is_v6 = false;

  client_key() = default;
  explicit client_key(const ip_address& of);

  friend bool operator==(const client_key&, const client_key&) = default;
};

/// Hashes keys in a way that clients cannot predict. They choose their IPv6 addresses, and could
/// otherwise fill one bucket of a table.
class client_key_hash {
 public:
  client_key_hash();

  [[nodiscard]] std::size_t operator()(const client_key& of) const noexcept {
    std::uint64_t mixed = (of.bits ^ first_) * 0x9e37'79b9'7f4a'7c15 + (of.is_v6 ? second_ : 0);
    mixed = (mixed ^ mixed >> 32) * (second_ | 1);
    return static_cast<std::size_t>(mixed ^ mixed >> 29);
  }

 private:
  std::uint64_t first_, second_;
};

}  // namespace troupe::http::detail
