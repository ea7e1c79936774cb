// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

namespace troupe {

/// Which messages of a mailbox are handled first. A message type declares it:
///
///   struct cancel {
///     static constexpr auto priority = troupe::priority::high;
///     int order;
///   };
///
/// A high message is handled before all normal ones that wait when it comes, also in the middle of a
/// turn; never in the middle of a handler.
///
/// Order:  the high messages of one sender stay in their order, and so do the normal ones. Between the two
///         there is none: what must not be overtaken by a high message is high as well. A stop() is
///         normal, stop_now() overtakes all. What an actor has kept (in a state that defers it, or behind an
///         exclusive handler) goes before what is newer and of its kind; a newer high one may overtake it.
/// Limits: count both alike.
/// Cost:   nothing for normal messages where none is high. A high one costs a reference to its receiver
///         and, if that is busy, a write to what it looks at before each message.
enum class priority : std::uint8_t { normal, high };

namespace detail {

// Not a member that is data.
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

/// That of messages of type M. For a type of somebody else's it can be specialised, where no actor has
/// been sent one yet:
///
///   template <>
///   inline constexpr auto troupe::priority_of<std::error_code> = troupe::priority::high;
template <class M>
inline constexpr priority priority_of = detail::declared_priority<M>();

}  // namespace troupe
