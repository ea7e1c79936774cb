// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/actor/sending_rules.hpp>
#include <troupe/message/envelope.hpp>

// How a system that is observed or traced sees each message begin and end, without a single
// instruction in other systems. A user's message gets another dispatch record, which has everything
// that its own has but runs code that reports the message. A message that belongs to a trace goes
// into an envelope that also holds the trace.

namespace troupe::detail {

/// Returns the message as it goes into a mailbox: marked, if its system observes messages. If there
/// is no memory for that, it stays as it is.
[[nodiscard]] envelope& marked(envelope& message, const system_state& home) noexcept;
/// Marks it without its trace; in the same envelope.
void mark_in_place(envelope& message, const system_state& home) noexcept;

/// Returns the message as it was sent.
[[nodiscard]] envelope& unmarked(envelope& message) noexcept;

/// True if it is marked in place and `how` is its own record. False for one that belongs to a
/// trace.
[[nodiscard]] bool is_marked_as(const envelope& message, const dispatch& how) noexcept;

/// The trace that it belongs to; 0: none.
[[nodiscard]] std::uint64_t trace_of(const envelope& message) noexcept;

}  // namespace troupe::detail
