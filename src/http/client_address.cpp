// SPDX-License-Identifier: Apache-2.0

#include "client_address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <random>

namespace troupe::http::detail {

namespace ip = boost::asio::ip;

ip_address unmapped(const ip_address& from) {
  if (from.is_v6() && from.to_v6().is_v4_mapped()) {
    return ip::make_address_v4(ip::v4_mapped, from.to_v6());
  }
  return from;
}

// inet_pton() and not make_address(), which also accepts a zone and looks it up as an interface.
std::optional<ip_address> parse_ip(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> copy{};  // ends with a zero
  if (text.size() >= copy.size()) return std::nullopt;
  std::copy(text.begin(), text.end(), copy.begin());
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  ip::address_v4::bytes_type v4;
  if (::inet_pton(AF_INET, copy.data(), v4.data()) == 1) return ip::address_v4(v4);
  ip::address_v6::bytes_type v6;
  if (::inet_pton(AF_INET6, copy.data(), v6.data()) == 1) return unmapped(ip::address_v6(v6));
  return std::nullopt;
}

client_key::client_key(const ip_address& of) {
  const ip_address plain = unmapped(of);
  if (plain.is_v4()) {
    bits = plain.to_v4().to_uint();
    return;
  }
  is_v6 = true;
  const auto bytes = plain.to_v6().to_bytes();
  for (std::size_t i = 0; i < 8; ++i) bits = bits << 8 | bytes[i];
}

client_key_hash::client_key_hash() {
  std::random_device device;
  const auto draw = [&] { return std::uint64_t{device()} << 32 | device(); };
  first_ = draw();
  second_ = draw();
}

}  // namespace troupe::http::detail
