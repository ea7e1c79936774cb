// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/detail/machine/active_state.hpp>
#include <troupe/detail/machine/state_dispatch.hpp>
#include <troupe/detail/machine/state_places.hpp>
#include <troupe/detail/machine/state_records.hpp>
#include <troupe/machine/state_checks.hpp>
#include <troupe/machine/statechart.hpp>

namespace troupe {

namespace detail {

[[noreturn]] void fail_unhandled(std::string_view machine, std::string_view state,
                                 std::string_view message);

}  // namespace detail

/// Base class of actors whose reaction to a message depends on their state:
///
///   class door : public troupe::state_machine<door> {
///    public:
///     struct closed : state {};
///     struct open : state {};
///     using states = troupe::states<closed, open>;
///     using messages = troupe::messages<push, count>;
///
///     to<open> on(closed, push) { ++opened_; return {}; }
///     to<closed> on(open, push) { return {}; }
///     static constexpr duration limit(open) { return 10s; }
///     to<closed> on(open, time_limit) { return {}; }
///     void on(const count& m) { m.to.send(opened_); }
///     …
///
/// A handler `on(state, M)` (or `on(state, M, address sender)`) handles M in that state and in
/// those of its substates that have no handler of their own. A handler `on(M)` handles M in all
/// states without a handler of their own. The return type lists the target states; a handler that
/// returns no `to` stays in the current state. The compiler therefore knows the whole machine, and
/// to_dot() prints it.
///
/// `void on_enter(state)` and `void on_exit(state)` run when a state is entered or left.
/// `duration limit(state)` sets how long the machine may stay in a state. After that time,
/// on(state, time_limit) is called, once for each stay.
/// `void on_unhandled(std::string_view state, std::string_view message)` is called for ignored
/// messages. All of these are public.
///
/// The state changes after the handler has returned. First, states are left, from the innermost one
/// outwards, up to the state that contains both the state of the handler and the target. Then
/// states are entered, down to the target, and further down to the initial child of each state. If
/// the target is a substate of the handler's own state, that state is not left. If the target is
/// that state itself, it is left and entered again. Actions cannot change the state; to do so, they
/// send a message to self(this). The termination of the actor is not a change of state and runs no
/// on_exit.
///
/// Threads: as actor. The machine is in no state until its on_start(), which is defined here, has
///          run.
/// Errors:  an exception that leaves a handler or an action terminates the actor, as for any actor.
///          Errors in the declaration are compile errors.
/// Cost:    handling a message is one indirect call more than in another actor; see active_state
///          for the cost of a change of state.
template <class Self>
class state_machine : public actor, public statechart {
 public:
  using handler_choice = detail::machine_of<Self>;

  /// The default of `static constexpr std::size_t max_deferred`, which a machine may declare: how
  /// many messages may wait at once for a change of state. Further messages are unhandled.
  static constexpr std::size_t deferred_by_default = 1'024;

  /// Enters the first state.
  void on_start() { active_.start(static_cast<Self*>(this)); }

  /// Returns true if the machine is in state S, or in one of its substates. During an action, it
  /// returns true if S has been entered and not yet been left.
  template <class S>
  [[nodiscard]] bool is_in() const noexcept {
    return active_.is_in(detail::index_of<Self, S>);
  }

  /// Returns the name of the innermost current state.
  [[nodiscard]] std::string_view state_name() const noexcept {
    const detail::state_index at = active_.innermost();
    return at == detail::no_state ? std::string_view{} : detail::state_records_of<Self>[at].name;
  }

  /// Returns how many messages were not handled because of the state.
  [[nodiscard]] std::uint64_t unhandled() const noexcept { return unhandled_; }

 protected:
  state_machine() : active_(detail::make_active_state<Self>()) {}
  ~state_machine() = default;

 private:
  friend detail::machine_of<Self>;

  detail::control_block& own_block() noexcept {
    return detail::ref_access::block(self(static_cast<Self*>(this)));
  }

  void change(const detail::transition& how) {
    active_.change(static_cast<Self*>(this), how);
    if constexpr (detail::defers_messages<Self>()) own_block().handle_kept_again();
  }

  [[nodiscard]] bool may_defer() noexcept {
    std::size_t most = deferred_by_default;
    if constexpr (requires { Self::max_deferred; }) most = Self::max_deferred;
    if (!own_block().keeps_any()) deferred_ = 0;  // all were handled again, for whatever reason
    if (deferred_ >= most) return false;
    ++deferred_;
    return true;
  }

  void tell_ignored(std::string_view message) {
    ++unhandled_;
    if constexpr (requires(Self& me) { me.on_unhandled(message, message); }) {
      static_cast<Self*>(this)->on_unhandled(state_name(), message);
    }
  }
  [[noreturn]] void fail_for(std::string_view message) {
    detail::fail_unhandled(name(), state_name(), message);
  }

  detail::active_state active_;
  std::uint64_t unhandled_ = 0;
  std::size_t deferred_ = 0;  // number of deferred messages that the actor has stashed
};

}  // namespace troupe
