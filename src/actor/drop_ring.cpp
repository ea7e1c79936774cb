// SPDX-License-Identifier: Apache-2.0
#include "drop_ring.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include <troupe/memory/pool.hpp>

#include "observed_messages.hpp"

namespace troupe::detail {

drop_ring::drop_ring(std::size_t places, std::size_t bytes_max, const dispatch& token,
                     const dispatch& high_token)
    : bytes_max_(bytes_max), high_token_(high_token), tokens_(places) {
  high_.bytes.resize(places);
  others_.bytes.resize(places);
  for (token_envelope& each : tokens_) {
    each.how = &token;
    each.ring = this;
    each.next = std::exchange(free_token_, &each);
  }
}

drop_ring& drop_ring::of(const envelope& token) noexcept {
  return *static_cast<const token_envelope&>(token).ring;
}

drop_ring::line& drop_ring::line_of(const dispatch& how) noexcept {
  return how.high ? high_ : others_;
}

// Null: there is no memory for the token of a high-priority message. Tokens for the others are
// preallocated.
drop_ring::token_envelope* drop_ring::take_token(const line& of) noexcept {
  if (&of == &others_) {
    return static_cast<token_envelope*>(std::exchange(free_token_, free_token_->next));
  }
  try {
    auto* const token = ::new (pool_allocate(sizeof(token_envelope))) token_envelope;
    token->how = &high_token_;
    token->ring = this;
    return token;
  } catch (...) {
    return nullptr;
  }
}

void drop_ring::give_back(token_envelope& token) noexcept {
  if (token.how == &high_token_) return free_envelope(token);
  token.next = std::exchange(free_token_, &token);
}

envelope* drop_ring::pop_oldest(line& of) noexcept {
  envelope* const message = of.oldest;
  if (message == nullptr) return nullptr;
  of.oldest = message->next;
  if (of.oldest == nullptr) of.newest = nullptr;
  --of.count;
  bytes_ -= of.bytes[of.first];
  of.first = (of.first + 1) % of.bytes.size();
  return message;
}

drop_ring::outcome drop_ring::push(envelope& message, mailbox to) noexcept {
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
  line* its = &line_of(*message.how);
  const auto needs_token = [&] {
    return its->tokens_out == its->count && its->count < tokens_.size();
  };
  token_envelope* token = needs_token() ? take_token(*its) : nullptr;
  if (needs_token() && token == nullptr) {
    its = &others_;
    if (needs_token()) token = take_token(*its);
  }
  if (token != nullptr) {
    // Under the mutex, so that no message waits without a token, and no message is accepted for a
    // mailbox that closes.
    result.pushed = to.push(*token);
    if (result.pushed == mailbox::pushed::closed) {
      give_back(*token);
      return result;
    }
    ++its->tokens_out;
  }
  while (count() == tokens_.size() || (count() != 0 && bytes > bytes_max_ - bytes_)) {
    drop(*pop_oldest(others_.count != 0 ? others_ : high_));
  }
  message.next = nullptr;
  (its->newest != nullptr ? its->newest->next : its->oldest) = &message;
  its->newest = &message;
  its->bytes[(its->first + its->count) % its->bytes.size()] = bytes;
  ++its->count;
  bytes_ += bytes;
  return result;
}

envelope* drop_ring::take(envelope& token) noexcept {
  const std::lock_guard lock(mutex_);
  return take_for(token);
}

envelope* drop_ring::take_if(envelope& token, const dispatch& how) noexcept {
  const std::lock_guard lock(mutex_);
  const envelope* const oldest = line_of(*token.how).oldest;
  if (oldest == nullptr || (oldest->how != &how && !is_marked_as(*oldest, how))) return nullptr;
  return take_for(token);
}

// Call under the mutex.
envelope* drop_ring::take_for(envelope& token) noexcept {
  line& its = line_of(*token.how);
  --its.tokens_out;
  give_back(static_cast<token_envelope&>(token));
  return pop_oldest(its);
}

}  // namespace troupe::detail
