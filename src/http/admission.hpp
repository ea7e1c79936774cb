// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <troupe/http/limits.hpp>

namespace troupe::http::detail {

/// Counts connections, in all and by where they come from.
///
/// An IPv6 client owns at least a /64, so that is what counts as one address there.
///
/// Threads:   one at a time.
/// Invariant: every leave() was preceded by an enter() of the same address that said yes.
class admission {
 public:
  enum class verdict : std::uint8_t { yes, full, too_many_from_there };
  using address = boost::asio::ip::address;

  explicit admission(const limits& bounds) noexcept
      : all_max_(bounds.connections_max), each_max_(bounds.connections_per_address_max) {}

  verdict enter(const address& from);
  void leave(const address& from) noexcept;

  [[nodiscard]] std::size_t inside() const noexcept { return all_; }

 private:
  const std::size_t all_max_;
  const std::size_t each_max_;
  std::size_t all_ = 0;
  std::unordered_map<address, std::size_t> each_;  // none is 0
};

}  // namespace troupe::http::detail
