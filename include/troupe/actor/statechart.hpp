// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace troupe {

template <class Self>
class state_machine;

/// All states of a machine, as it names them: `using states = troupe::states<closed, open>;`. It begins in
/// the first one. Of the states within another one, the first in the list is where that begins.
template <class... Ss>
struct states {
  static constexpr std::size_t size = sizeof...(Ss);
};

/// The words in which a state_machine is declared, as members so that they are short within it.
class statechart {
 public:
  /// A state is an empty class: `struct closed : state {};`. Beside handlers (see state_machine) it may say
  /// what becomes of messages that nobody handles in it:
  ///
  ///   struct dialing : state {
  ///     using defers = troupe::messages<text>;  // these wait for the next change of state
  ///     using unhandled = fails;                // all others: ignored (the default), deferred, fails
  ///   };
  struct state {};

  /// A state within another one: `struct ringing : in<dialing> {};`. What it does not handle, its parent
  /// may; `unhandled` is its parent's, unless it has one of its own.
  template <class Parent>
  struct in : state {
    using parent = Parent;
  };

  struct ignored {};   // counted, and told to on_unhandled()
  struct deferred {};  // waits for the next change of state
  struct fails {};     // ends the actor as failed

  /// One of the targets of a handler: it stays where it is, without exit and entry.
  struct stay {};
  /// As a target: the state, and within it the child in which it was last; the first time its first one.
  template <class S>
  struct history {};
  /// The same for the children of the child as well, down to the innermost.
  template <class S>
  struct deep_history {};

  /// What a handler returns that changes the state: `to<open> on(closed, push)`. Of several targets it
  /// returns one: `to<open, stay> on(closed, code m) { if (m.is_right) return open{}; return stay{}; }`.
  template <class... Targets>
  class [[nodiscard]] to {
    static_assert(sizeof...(Targets) > 0, "name the states that it may go to: to<open, stay>");

   public:
    constexpr to() noexcept
      requires(sizeof...(Targets) == 1)
    = default;
    template <class T>
      requires(std::same_as<T, Targets> || ...)
    constexpr to(T) noexcept {
      (void)((std::same_as<T, Targets> || (++which_, false)) || ...);
    }

    /// Counted from 0.
    [[nodiscard]] constexpr std::uint8_t which() const noexcept { return which_; }

   private:
    std::uint8_t which_ = 0;
  };

  /// The message of a state in which the machine has been for as long as its `limit(state)` says.
  struct time_limit {};
};

}  // namespace troupe
