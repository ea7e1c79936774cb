// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/message/envelope.hpp>

// A message that was popped and is not handled now (a stashed message) stays counted in its
// mailbox. A message from a timer or from the places of drop_oldest was never counted there: it
// goes back in another envelope, which weighs nothing.

namespace troupe::detail {

[[nodiscard]] bool is_wrapped(const envelope& message) noexcept;
[[nodiscard]] bool is_to_be_retried(const envelope& message) noexcept;

/// Returns the message in such an envelope and frees the envelope; null if it is not such an
/// envelope.
[[nodiscard]] envelope* unwrap(envelope& message) noexcept;

/// Wraps a message that the mailbox has not counted. Throws std::bad_alloc.
[[nodiscard]] envelope& wrap(envelope& message);
/// The same for a message that is handled with control_block::handle_once_more().
[[nodiscard]] envelope& wrap_to_retry(envelope& message);

}  // namespace troupe::detail
