// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <troupe/detail/memory/surplus.hpp>

namespace troupe {

void surplus_signal::raise() noexcept {
  const std::lock_guard lock(mutex_);
  if (raised_) return;
  raised_ = true;
  if (first_ != nullptr) first_->on_surplus();
}

void surplus_signal::lower() noexcept {
  const std::lock_guard lock(mutex_);
  raised_ = false;
}

bool surplus_signal::is_raised() const noexcept {
  const std::lock_guard lock(mutex_);
  return raised_;
}

void surplus_signal::add(surplus_listener& listener) noexcept {
  const std::lock_guard lock(mutex_);
  if (first_ == nullptr) {
    first_ = &listener;
    if (raised_) listener.on_surplus();
  } else {
    listener.next_ = first_->next_;
    first_->next_ = &listener;
  }
}

void surplus_signal::remove(surplus_listener& listener, bool owes) noexcept {
  const std::lock_guard lock(mutex_);
  const bool was_told = first_ == &listener;
  surplus_listener** at = &first_;
  while (*at != &listener) at = &(*at)->next_;
  *at = listener.next_;
  listener.next_ = nullptr;
  if (owes) raised_ = true;
  if (was_told && raised_ && first_ != nullptr) first_->on_surplus();
}

}  // namespace troupe
