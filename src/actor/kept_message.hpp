// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/actor/control_block.hpp>
#include <troupe/message/envelope.hpp>

// A message that was popped and is not handled now stays counted in its mailbox. What came out of a
// timer or of the places of drop_oldest was not counted there: it goes back in another envelope, which
// weighs nothing.

namespace troupe::detail {

[[nodiscard]] bool is_wrapped(const envelope& message) noexcept;
[[nodiscard]] bool is_to_be_retried(const envelope& message) noexcept;

/// The message in such an envelope, which is freed; or null, if it is none.
[[nodiscard]] envelope* unwrap(envelope& message) noexcept;

/// Throws std::bad_alloc.
[[nodiscard]] envelope& wrap(envelope& message);
/// The same for one that is handled with control_block::handle_once_more().
[[nodiscard]] envelope& wrap_to_retry(envelope& message);

}  // namespace troupe::detail
