// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/actor/reply.hpp>
#include <troupe/actor/request.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/actor/termination_messages.hpp>
#include <troupe/detail/machine/active_state.hpp>
#include <troupe/detail/machine/state_handlers.hpp>
#include <troupe/detail/machine/state_outcomes.hpp>
#include <troupe/detail/machine/state_places.hpp>
#include <troupe/detail/machine/state_records.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/machine/statechart.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/handler.hpp>
#include <troupe/message/type_name.hpp>

// The path of a message in a machine: to its handler, and to the next state.

namespace troupe::detail {

/// Chooses among the handlers of the machine A: its `handler_choice`.
///
/// Cost: in addition to that of any message, a load from a table of its message and an indirect
///       call.
template <class A>
struct machine_of {
  template <class M>
  static constexpr bool handles = [] {
    if constexpr (declares_messages<A>) {
      return A::messages::template contains<M>;
    } else {
      return false;
    }
  }();

  template <class M>
  static constexpr bool wants_sender = [] {
    bool wants = declares_with_sender<A, M>;
    if constexpr (lists_states<A>) {
      for_each_state(typename A::states{},
                     [&]<class S>(S*) { wants |= handles_with_sender_in<A, S, M>; });
    }
    return wants;
  }();

  template <class M>
  static void run(void* actor, envelope& message) {
    A& a = *static_cast<A*>(actor);
    if constexpr (lists_states<A>) table<M>[machine(a).active_.innermost()](a, message);
  }

  /// The type with which the handlers of M reply: void if they do not reply.
  template <class M>
  using reply = typename decltype(find_reply_in_machine<A, M>())::type;

  /// As run(), for a request.
  template <class M>
  static void run_request(void* actor, envelope& asked) {
    A& a = *static_cast<A*>(actor);
    request_table<M>[machine(a).active_.innermost()](a, asked);
  }

  /// Calls a handler whose result is not used.
  template <class M, class S, class Message>
  static void call(A& a, Message&& message, const address& sender) {
    using R = typename declared_result<A, M, S>::type;
    const auto on = [&]() -> decltype(auto) {
      if constexpr (with_sender<M, S>) {
        return call_on<S>(a, std::forward<Message>(message), sender);
      } else if constexpr (later<M, S>) {
        return call_on<S>(a, std::forward<Message>(message), troupe::reply<reply<M>>{});
      } else {
        return call_on<S>(a, std::forward<Message>(message));
      }
    };
    if constexpr (handler_result<R>::is_coroutine) {
      handler_result<R>::start(made<M, S>(on));
    } else if constexpr (outcome<R>::may_go) {
      go<S>(a, on());
    } else {
      static_cast<void>(on());
    }
  }

  static state_index innermost(const A& a) noexcept {
    return static_cast<const state_machine<A>&>(a).active_.innermost();
  }

  static control_block& block(A& a) noexcept { return machine(a).own_block(); }

 private:
  using way = void (*)(A& a, envelope& message);

  template <class M>
  using carrier = message_envelope<M, wants_sender<M>>;

  // A may have members with the same names as those of the machine.
  static state_machine<A>& machine(A& a) noexcept { return a; }

  template <class M, class S>
  static void handle(A& a, envelope& message) {
    auto& e = static_cast<carrier<M>&>(message);
    is_handled_now<A, M>(message);
    struct free_after {
      carrier<M>& e;
      ~free_after() { free_envelope(e); }
    } guard{e};
    if constexpr (wants_sender<M>) {
      call<M, S>(a, std::move(e.value), e.sender);
    } else {
      call<M, S>(a, std::move(e.value), address{});
    }
  }

  // The reply is sent before the state changes.
  template <class M, class S>
  static void answer(A& a, envelope& message) {
    using R = typename declared_result<A, M, S>::type;
    auto& asked = static_cast<request_of<M, reply<M>>&>(message);
    unless_answered guard{&asked};
    if constexpr (later<M, S>) {
      // The block may become the reply while the handler runs.
      M taken(std::move(asked.message));
      asked.empty();
      guard.asked = nullptr;
      const auto on = [&] {
        return call_on<S>(a, std::move(taken), reply_access::owed<reply<M>>(asked));
      };
      if constexpr (outcome<R>::may_go) {
        go<S>(a, on());
      } else {
        on();
      }
    } else {
      const auto on = [&] {
        if constexpr (with_sender<M, S>) {
          return call_on<S>(a, std::move(asked.message), asked.from.who());
        } else {
          return call_on<S>(a, std::move(asked.message));
        }
      };
      if constexpr (handler_result<R>::is_coroutine) {
        auto handler = made<M, S>(on);
        asked.empty();
        guard.asked = nullptr;
        handler_result<R>::start(std::move(handler), &asked, answer_of_task<reply<M>>);
      } else if constexpr (outcome<R>::may_go) {
        auto result = on();
        answer_request(asked, std::move(result.first));
        guard.asked = nullptr;
        go<S>(a, result.second);
      } else {
        reply<M> with = on();
        answer_request(asked, std::move(with));
        guard.asked = nullptr;
      }
    }
  }

  // The requester gets an error: ask_error::unanswered.
  template <class M>
  static void ignore(A& a, envelope& message) {
    const no_answer_scope as(ask_error::unanswered);
    message.how->discard(message);
    machine(a).tell_ignored(type_name<M>());
  }

  template <class M>
  static void fail(A& a, envelope& message) {
    const no_answer_scope as(ask_error::failed);
    message.how->discard(message);
    machine(a).fail_for(type_name<M>());
  }

  template <class M>
  static void defer(A& a, envelope& message) {
    if (!machine(a).may_defer()) return ignore<M>(a, message);
    try {
      block(a).keep(message);
    } catch (...) {
      message.how->discard(message);
      throw;
    }
  }

  template <class M, bool Asked, class S>
  static constexpr way way_of(handled_in<S>) {
    if constexpr (Asked) {
      return answer<M, S>;
    } else {
      return handle<M, S>;
    }
  }
  template <class M, bool Asked>
  static constexpr way way_of(unhandled_as<statechart::ignored>) {
    return ignore<M>;
  }
  template <class M, bool Asked>
  static constexpr way way_of(unhandled_as<statechart::deferred>) {
    return defer<M>;
  }
  template <class M, bool Asked>
  static constexpr way way_of(unhandled_as<statechart::fails>) {
    return fail<M>;
  }

  template <class M, bool Asked, class... Ss>
  static constexpr auto make_table(states<Ss...>) {
    return std::array<way, sizeof...(Ss)>{way_of<M, Asked>(found_handler<A, M, Ss>{})...};
  }

  /// The function for M in each state.
  template <class M>
  static constexpr auto table = make_table<M, false>(typename A::states{});
  template <class M>
  static constexpr auto request_table = make_table<M, true>(typename A::states{});

  template <class M, class S>
  static constexpr bool with_sender =
      std::is_void_v<S> ? declares_with_sender<A, M> : handles_with_sender_in<A, S, M>;
  template <class M, class S>
  static constexpr bool later = std::is_void_v<S> ? replies_later<A, M> : replies_later_in<A, S, M>;

  template <class S, class... Parameters>
  static decltype(auto) call_on(A& a, Parameters&&... parameters) {
    if constexpr (std::is_void_v<S>) {
      return a.on(std::forward<Parameters>(parameters)...);
    } else {
      return a.on(S{}, std::forward<Parameters>(parameters)...);
    }
  }

  // Returns a handler that is a coroutine and has not begun.
  template <class M, class S, class On>
  static auto made(const On& on) {
    using R = typename declared_result<A, M, S>::type;
    constexpr bool by_value = std::is_void_v<S>
                                  ? handles_values<A, M> || handles_values<A, M, address>
                                  : declares_on<A, R, S, M> || declares_on<A, R, S, M, address>;
    if constexpr (!by_value) {
      static_cast<void>(sizeof(coroutine_handler_must_take_its_parameters_by_value<A, M>));
    }
    return on();
  }

  template <class S, class... Targets>
  static void go(A& a, statechart::to<Targets...> where) {
    const transition& how = transitions_to<A, S, statechart::to<Targets...>>::all[where.which()];
    if (how.how != transition::kind::stays) machine(a).change(how);
  }
  template <class S, class R, class... Targets>
  static void go(A& a, std::pair<R, statechart::to<Targets...>> where) {
    go<S>(a, where.second);
  }
};

}  // namespace troupe::detail
