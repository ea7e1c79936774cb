// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <troupe/detail/mailbox/mailbox.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/sync/mutex.hpp>

namespace troupe::detail {

/// The places of a mailbox that drops its oldest messages. The messages wait here; the mailbox
/// itself holds one token for each, which means "handle the oldest message that is left". So
/// messages keep their order relative to everything else that is sent: a message sent before a
/// stop() has its token before it.
///
/// High-priority messages have a queue and tokens of their own. They are dropped only when no other
/// messages are left.
///
/// Threads:   any; take() from the reader.
/// Invariant: for each priority there are at least as many tokens on their way as messages here,
///            and never more than there are places.
/// Cost:      a mutex; 56 bytes for each place, allocated at the start, and 56 bytes on demand for
///            each waiting high-priority message. If that allocation fails, the message joins the
///            other queue.
class drop_ring {
 public:
  /// `token` and `high_token` are the dispatch records of its tokens.
  drop_ring(std::size_t places, std::size_t bytes_max, const dispatch& token,
            const dispatch& high_token);
  drop_ring(const drop_ring&) = delete;
  drop_ring& operator=(const drop_ring&) = delete;

  struct outcome {
    mailbox::pushed pushed;
    envelope* dropped;  // a list, oldest first, which the caller destroys
  };
  /// Takes the message unless the mailbox is closed, and drops the messages that exceed the limits.
  /// A message that alone exceeds the byte limit is dropped itself.
  outcome push(envelope& message, mailbox to) noexcept;

  /// Handles the arrival of a token: returns the oldest message, or null if it has been dropped
  /// meanwhile.
  [[nodiscard]] envelope* take(envelope& token) noexcept;

  /// The same if the oldest message is of kind `how`. Otherwise returns null, and the token stays
  /// unused.
  [[nodiscard]] envelope* take_if(envelope& token, const dispatch& how) noexcept;

  /// The ring that a token belongs to.
  [[nodiscard]] static drop_ring& of(const envelope& token) noexcept;

 private:
  struct token_envelope : envelope {
    drop_ring* ring = nullptr;
  };

  struct line {
    envelope* oldest = nullptr;
    envelope* newest = nullptr;
    std::size_t count = 0;
    std::size_t tokens_out = 0;
    // The size of each message; that of the oldest is at `first`. Computing a message's size may
    // run user code, which must not happen under the mutex.
    std::vector<std::size_t> bytes;
    std::size_t first = 0;
  };

  [[nodiscard]] std::size_t count() const noexcept { return high_.count + others_.count; }
  line& line_of(const dispatch& how) noexcept;
  token_envelope* take_token(const line& of) noexcept;
  void give_back(token_envelope& token) noexcept;
  envelope* pop_oldest(line& of) noexcept;
  envelope* take_for(envelope& token) noexcept;

  const std::size_t bytes_max_;
  const dispatch& high_token_;
  mutex mutex_;  // guards the following members
  std::vector<token_envelope> tokens_;
  envelope* free_token_ = nullptr;
  line high_;
  line others_;
  std::size_t bytes_ = 0;
};

/// True for a ring's token. The messages in a ring are counted and reported like all others; tokens
/// are not.
[[nodiscard]] bool is_ring_token(const envelope& message) noexcept;

}  // namespace troupe::detail
