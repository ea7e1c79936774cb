// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace troupe {

template <class Self>
class state_machine;

/// Lists all states of a machine: `using states = troupe::states<closed, open>;`. The machine
/// begins in the first one. Among the children of a state, the first one in the list is the initial
/// one.
template <class... Ss>
struct states {
  static constexpr std::size_t size = sizeof...(Ss);
};

/// The vocabulary in which a state_machine is declared, as members so that the names are short
/// within it.
class statechart {
 public:
  /// Base class of a state, which is an empty class: `struct closed : state {};`. In addition to
  /// handlers (see state_machine), a state may declare what happens to messages that it does not
  /// handle:
  ///
  ///   struct dialing : state {
  ///     using defers = troupe::messages<text>;  // these wait for the next change of state
  ///     using unhandled = fails;  // all others: ignored (the default), deferred, fails
  ///   };
  struct state {};

  /// Base class of a substate: `struct ringing : in<dialing> {};`. Messages that it does not handle
  /// are offered to its parent. `unhandled` is inherited from the parent, unless the substate
  /// declares its own.
  template <class Parent>
  struct in : state {
    using parent = Parent;
  };

  struct ignored {};   // counted, and reported to on_unhandled()
  struct deferred {};  // waits for the next change of state
  struct fails {};     // fails the actor

  /// As one of the targets of a handler: stays in the current state, without exit and entry.
  struct stay {};
  /// As a target: the state S, and within it the child in which it was last; the first time, its
  /// initial child.
  template <class S>
  struct history {};
  /// As history, also for the children of the child, down to the innermost.
  template <class S>
  struct deep_history {};

  /// The return type of a handler that changes the state: `to<open> on(closed, push)`. If it has
  /// several targets, the handler returns one:
  /// `to<open, stay> on(closed, code m) { if (m.is_right) return open{}; return stay{}; }`.
  template <class... Targets>
  class [[nodiscard]] to {
    static_assert(sizeof...(Targets) > 0,
                  "to<> needs the states that the handler may enter: to<open, stay>");

   public:
    constexpr to() noexcept
      requires(sizeof...(Targets) == 1)
    = default;
    template <class T>
      requires(std::same_as<T, Targets> || ...)
    constexpr to(T) noexcept {
      (void)((std::same_as<T, Targets> || (++which_, false)) || ...);
    }

    /// Returns the index of the chosen target, counted from 0.
    [[nodiscard]] constexpr std::uint8_t which() const noexcept { return which_; }

   private:
    std::uint8_t which_ = 0;
  };

  /// The message that a state receives when the machine has been in it for the time that
  /// `limit(state)` gives.
  struct time_limit {};
};

}  // namespace troupe
