// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

namespace troupe {

/// The priority of a message type, which decides which messages of a mailbox are handled first. A
/// message type declares it:
///
///   struct cancel {
///     static constexpr auto priority = troupe::priority::high;
///     int order;
///   };
///
/// A high message is handled before all normal ones that are waiting when it arrives, even in the
/// middle of a turn; it never interrupts a handler.
///
/// Order:  the high messages of one sender stay in their order, and so do the normal ones. There is
///         no order between the two: a message that must not be overtaken by a high one must be
///         high as well. A stop() is normal; stop_now() overtakes all messages. Messages that an
///         actor has stashed (deferred by a state, or waiting for an exclusive handler) are handled
///         before newer ones of the same priority; a newer high one may overtake them.
/// Limits: both priorities count alike.
/// Cost:   none for normal messages if there are no high ones. A high message costs a reference to
///         its receiver and, if that is busy, a write to the word that the receiver reads before
///         each message.
enum class priority : std::uint8_t { normal, high };

namespace detail {

// Ignores a non-static data member of that name.
template <class M>
concept declares_priority =
    requires { requires std::same_as<decltype(&M::priority), const troupe::priority*>; };

template <class M>
consteval priority declared_priority() {
  if constexpr (declares_priority<M>) {
    return M::priority;
  } else {
    return priority::normal;
  }
}

}  // namespace detail

/// The priority of messages of type M. It can be specialised for a type of another library, before
/// an actor is sent the first message of that type:
///
///   template <>
///   inline constexpr auto troupe::priority_of<std::error_code> = troupe::priority::high;
template <class M>
inline constexpr priority priority_of = detail::declared_priority<M>();

}  // namespace troupe
