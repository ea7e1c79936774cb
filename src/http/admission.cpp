// SPDX-License-Identifier: Apache-2.0

#include "admission.hpp"

#include <algorithm>

#include <troupe/base/assert.hpp>

namespace troupe::http::detail {
namespace {

admission::address who_counts(const admission::address& from) {
  if (from.is_v4()) return from;
  auto bytes = from.to_v6().to_bytes();
  if (from.to_v6().is_v4_mapped()) {
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, from.to_v6());
  }
  std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
  return boost::asio::ip::address_v6{bytes};
}

}  // namespace

admission::verdict admission::enter(const address& from) {
  if (all_ >= all_max_) return verdict::full;
  std::size_t& there = each_[who_counts(from)];
  if (there >= each_max_) return verdict::too_many_from_there;
  ++there;
  ++all_;
  return verdict::yes;
}

void admission::leave(const address& from) noexcept {
  const auto there = each_.find(who_counts(from));
  TROUPE_ASSERT(there != each_.end(), "admission: a connection left that was never admitted");
  if (--there->second == 0) each_.erase(there);
  --all_;
}

}  // namespace troupe::http::detail
