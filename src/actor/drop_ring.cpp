// SPDX-License-Identifier: Apache-2.0
#include "drop_ring.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace troupe::detail {

drop_ring::drop_ring(std::size_t places, std::size_t bytes_max, const dispatch& token)
    : bytes_max_(bytes_max), tokens_(places) {
  for (token_envelope& each : tokens_) {
    each.how = &token;
    each.ring = this;
    each.next = std::exchange(free_token_, &each);
  }
}

drop_ring& drop_ring::of(const envelope& token) noexcept {
  return *static_cast<const token_envelope&>(token).ring;
}

envelope* drop_ring::pop_oldest() noexcept {
  envelope* const message = oldest_;
  if (message == nullptr) return nullptr;
  oldest_ = message->next;
  if (oldest_ == nullptr) newest_ = nullptr;
  --count_;
  bytes_ -= std::min(bytes_, message->how->charge(*message));
  return message;
}

drop_ring::outcome drop_ring::push(envelope& message, mailbox& to) noexcept {
  outcome result{mailbox::pushed::to_busy, nullptr};
  envelope** end = &result.dropped;
  const auto drop = [&end](envelope& one) {
    one.next = nullptr;
    *end = &one;
    end = &one.next;
  };
  const std::size_t bytes = message.how->charge(message);
  const std::lock_guard lock(mutex_);
  if (to.is_closed()) {
    result.pushed = mailbox::pushed::closed;
    return result;
  }
  if (bytes > bytes_max_) {
    drop(message);
    return result;
  }
  if (tokens_out_ == count_ && free_token_ != nullptr) {
    // Under the mutex, so that no message waits without a token, and none is taken in by a mailbox
    // that closes.
    envelope& token = *std::exchange(free_token_, free_token_->next);
    result.pushed = to.push(token);
    if (result.pushed == mailbox::pushed::closed) {
      token.next = std::exchange(free_token_, &token);
      return result;
    }
    ++tokens_out_;
  }
  while (count_ == tokens_.size() || (count_ != 0 && bytes > bytes_max_ - bytes_)) {
    drop(*pop_oldest());
  }
  message.next = nullptr;
  (newest_ != nullptr ? newest_->next : oldest_) = &message;
  newest_ = &message;
  ++count_;
  bytes_ += bytes;
  return result;
}

envelope* drop_ring::take(envelope& token) noexcept {
  const std::lock_guard lock(mutex_);
  token.next = std::exchange(free_token_, &token);
  --tokens_out_;
  return pop_oldest();
}

}  // namespace troupe::detail
