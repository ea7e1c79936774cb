// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/actor/sending_rules.hpp>
#include <troupe/message/envelope.hpp>

// How a system that is observed, or that traces, sees each message begin and end, where no other has a
// single instruction for it: a message of a user's gets another record, which has all that its own one
// has, but runs code that tells of it. One that belongs to a trace goes in an envelope that has the trace
// as well.

namespace troupe::detail {

/// The message as it goes into a mailbox: marked, if its system looks at messages. With no memory for
/// that it stays as it is.
[[nodiscard]] envelope& marked(envelope& message, const system_state& home) noexcept;
/// The same without its trace; in the same place.
void mark_in_place(envelope& message, const system_state& home) noexcept;

/// The message as it was sent.
[[nodiscard]] envelope& unmarked(envelope& message) noexcept;

/// It is marked in its place, and this is its own record. One that belongs to a trace is not.
[[nodiscard]] bool is_marked_as(const envelope& message, const dispatch& how) noexcept;

/// The trace that it belongs to; 0: none.
[[nodiscard]] std::uint64_t trace_of(const envelope& message) noexcept;

}  // namespace troupe::detail
