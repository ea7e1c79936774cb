// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <troupe/mailbox/mailbox.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::detail {

/// The places of a mailbox that drops its oldest messages. The messages wait here; the mailbox itself
/// holds a token for each, «handle the oldest that is left», so that they keep their order with what
/// else comes: what was sent before a stop() has its token before it.
///
/// High messages have a line and tokens of their own. They are dropped only where no others are left.
///
/// Threads:   any; take() from the reader.
/// Invariant: of each kind at least as many tokens are on their way as messages are here, and never more
///            than there are places.
/// Cost:      a mutex. 40 bytes for each place, from the start; and for each high message that waits, on
///            demand: with no memory for it that one stands in the line of the others.
class drop_ring {
 public:
  /// With the records of its tokens.
  drop_ring(std::size_t places, std::size_t bytes_max, const dispatch& token,
            const dispatch& high_token);
  drop_ring(const drop_ring&) = delete;
  drop_ring& operator=(const drop_ring&) = delete;

  struct outcome {
    mailbox::pushed pushed;
    envelope* dropped;  // a list, oldest first, for the caller to destroy
  };
  /// Takes the message, unless the mailbox is closed; drops what is too much. A message that alone is
  /// larger than the limit drops itself.
  outcome push(envelope& message, mailbox to) noexcept;

  /// A token has arrived: the oldest message, or null if it was dropped meanwhile.
  [[nodiscard]] envelope* take(envelope& token) noexcept;

  /// The same, if the oldest message is of this kind; else null, and the token has not arrived yet.
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
  };

  [[nodiscard]] std::size_t count() const noexcept { return high_.count + others_.count; }
  line& line_of(const dispatch& how) noexcept;
  token_envelope* take_token(const line& of) noexcept;
  void give_back(token_envelope& token) noexcept;
  envelope* pop_oldest(line& of) noexcept;
  envelope* take_for(envelope& token) noexcept;

  const std::size_t bytes_max_;
  const dispatch& high_token_;
  mutex mutex_;  // guards what follows
  std::vector<token_envelope> tokens_;
  envelope* free_token_ = nullptr;
  line high_;
  line others_;
  std::size_t bytes_ = 0;
};

/// What waits in a ring is counted and told like any other message; its token is not.
[[nodiscard]] bool is_ring_token(const envelope& message) noexcept;

}  // namespace troupe::detail
