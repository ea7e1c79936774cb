// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace troupe {

template <class Self>
class state_machine;

/// Lists all states of a machine: `using states = troupe::states<closed, open>;`. The first state
/// is the initial state of the machine. Among the children of a state, the first one in the list is
/// the initial child.
template <class... Ss>
struct states {
  static constexpr std::size_t size = sizeof...(Ss);
};

/// The names with which a state_machine is declared. They are members of this base class, so that
/// they are short in the machine's class.
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

  /// A target of a handler: the machine stays in the current state, without exit and entry.
  struct stay {};
  /// A target of a handler: the state S, and in it the child that was active last; the first time,
  /// the initial child.
  template <class S>
  struct history {};
  /// A target of a handler: like history, but applied to all levels, down to the innermost state
  /// that was active last.
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
