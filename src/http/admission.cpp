// SPDX-License-Identifier: Apache-2.0

#include "admission.hpp"

#include <mutex>

#include <troupe/base/assert.hpp>

namespace troupe::http::detail {

admission::verdict admission::enter(const address& from) {
  const std::lock_guard lock(mutex_);
  if (all_ >= all_max_) return verdict::full;
  if (!enter_each(client_key(from))) return verdict::too_many_from_there;
  ++all_;
  return verdict::yes;
}

void admission::leave(const address& from) noexcept {
  const std::lock_guard lock(mutex_);
  leave_each(client_key(from));
  --all_;
}

admission::verdict admission::enter_proxy() {
  const std::lock_guard lock(mutex_);
  if (all_ >= all_max_) return verdict::full;
  ++all_;
  return verdict::yes;
}

void admission::leave_proxy() noexcept {
  const std::lock_guard lock(mutex_);
  --all_;
}

bool admission::enter_client(const client_key& who) {
  const std::lock_guard lock(mutex_);
  return enter_each(who);
}

void admission::leave_client(const client_key& who) noexcept {
  const std::lock_guard lock(mutex_);
  leave_each(who);
}

std::size_t admission::inside() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

bool admission::enter_each(const client_key& who) {
  std::size_t& there = each_[who];
  if (there >= each_max_) return false;
  ++there;
  return true;
}

void admission::leave_each(const client_key& who) noexcept {
  const auto there = each_.find(who);
  TROUPE_ASSERT(there != each_.end(), "admission: left without having entered");
  if (--there->second == 0) each_.erase(there);
}

}  // namespace troupe::http::detail
