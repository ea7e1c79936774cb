// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/message/envelope.hpp>

// A message that was popped and is not handled now stays counted in its mailbox. What came out of a
// timer or of the places of drop_oldest was not counted there: it goes back in another envelope, which
// weighs nothing.

namespace troupe::detail {

/// While what runs was not in the mailbox itself, but was brought by something that was.
class unwrapped_scope {
 public:
  unwrapped_scope() noexcept : before_(std::exchange(this_turn().unwrapped, true)) {}
  unwrapped_scope(const unwrapped_scope&) = delete;
  unwrapped_scope& operator=(const unwrapped_scope&) = delete;
  ~unwrapped_scope() { this_turn().unwrapped = before_; }

 private:
  const bool before_;
};

/// The message in such an envelope, which is freed; or null, if it is none.
[[nodiscard]] envelope* unwrap(envelope& message) noexcept;

/// Throws std::bad_alloc.
[[nodiscard]] envelope& wrap(envelope& message);

}  // namespace troupe::detail
