// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include <troupe/actor/active_state.hpp>
#include <troupe/actor/control_block.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/reply.hpp>
#include <troupe/actor/request.hpp>
#include <troupe/actor/state_handlers.hpp>
#include <troupe/actor/statechart.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/actor/timer.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/message/handler.hpp>
#include <troupe/message/type_name.hpp>

namespace troupe {

template <class Self>
class state_machine;

}  // namespace troupe

namespace troupe::detail {

/// The last part of a type's name: `open` of `home::door::open`.
template <class T>
constexpr std::string_view short_name() noexcept {
  std::string_view name = type_name<T>();
  const std::string_view before_arguments = name.substr(0, name.find('<'));
  if (const auto colons = before_arguments.rfind("::"); colons != std::string_view::npos) {
    name.remove_prefix(colons + 2);
  }
  return name;
}

template <class A, class S>
concept has_limit = requires(A& a) { duration(a.limit(S{})); };

template <class A>
struct machine_of;

// ── The records of a machine's states ─────────────────────────────────────────────────────────

template <class A, class S>
void run_on_enter(void* machine) {
  static_cast<A*>(machine)->on_enter(S{});
}
template <class A, class S>
void run_on_exit(void* machine) {
  static_cast<A*>(machine)->on_exit(S{});
}

template <class A, class S>
void run_limit(void* machine, envelope& message) {
  free_envelope(static_cast<message_envelope<statechart::time_limit, false>&>(message));
  machine_of<A>::template call<statechart::time_limit, S>(*static_cast<A*>(machine),
                                                          statechart::time_limit{}, address{});
}

/// Never waits in a mailbox itself: it comes with its timer's tick.
template <class A, class S>
inline constexpr dispatch limit_dispatch{.run = run_limit<A, S>,
                                         .discard = discard_message<statechart::time_limit, false>,
                                         .message = type_name<statechart::time_limit>(),
                                         .internal = true};

template <class A, class S>
timer arm_limit(void* machine) {
  A& a = *static_cast<A*>(machine);
  return arm_once<false>(machine_of<A>::block(a), limit_dispatch<A, S>, duration(a.limit(S{})),
                         statechart::time_limit{});
}

template <class A>
constexpr auto make_state_records() {
  using list = typename A::states;
  std::array<state_record, list::size> all;
  state_index at = 0;
  state_index limits = 0;
  for_each_state(list{}, [&]<class S>(S*) {
    state_record& state = all[at];
    state.name = short_name<S>();
    state.parent = parent_at(list{}, at);
    state.first_child = first_within(list{}, at);
    if constexpr (requires(A& a) { a.on_enter(S{}); }) state.on_enter = run_on_enter<A, S>;
    if constexpr (requires(A& a) { a.on_exit(S{}); }) state.on_exit = run_on_exit<A, S>;
    if constexpr (has_limit<A, S> && declares_handler<A, statechart::time_limit, S>) {
      state.limit = limits++;
      state.arm_limit = arm_limit<A, S>;
    }
    ++at;
  });
  return all;
}

template <class A>
inline constexpr auto state_records_of = make_state_records<A>();

template <class A>
constexpr std::size_t count_limits_of_states() {
  std::size_t limits = 0;
  for (const state_record& each : state_records_of<A>) limits += each.limit != no_state ? 1 : 0;
  return limits;
}

// What has no list is an error of its own, and is not to lead to more.
template <class A>
concept lists_states = requires { for_each_state(typename A::states{}, [](auto*) {}); };

/// Calls `what` with an M* and an S* for each handler that S declares (void: the actor itself).
template <class A, class What>
constexpr void for_each_handler(What&& what) {
  const auto look_in = [&]<class S>(S* state) {
    const auto look = [&]<class M>(M* message) {
      if constexpr (declares_handler<A, M, S>) what(message, state);
    };
    for_each_message(typename A::messages{}, look);
    if constexpr (!std::is_void_v<S>) look(static_cast<statechart::time_limit*>(nullptr));
  };
  for_each_state(typename A::states{}, look_in);
  look_in(static_cast<void*>(nullptr));
}

/// Whether any state defers anything.
template <class A>
constexpr bool defers_messages() {
  bool defers = false;
  for_each_state(typename A::states{}, [&]<class S>(S*) {
    defers |= requires { typename S::defers; } ||
              std::same_as<typename policy_in<S, void>::type, statechart::deferred>;
  });
  return defers;
}

/// Whether any handler leads to a history.
template <class A>
constexpr bool asks_for_history() {
  bool asks = false;
  for_each_handler<A>([&]<class M, class S>(M*, S*) {
    if constexpr (outcome_of<A, M, S>::may_go) {
      transitions_to<A, S, typename outcome_of<A, M, S>::targets>::for_each([&]<class T>(T*) {
        asks |= target_of<T>::kind == transition::kind::shallow_history ||
                target_of<T>::kind == transition::kind::deep_history;
      });
    }
  });
  return asks;
}

// ── The way of a message ──────────────────────────────────────────────────────────────────────

/// Chooses among the handlers of the machine A: its `handler_choice`.
///
/// Cost: beside what any message costs, a load from a table of its message and an indirect call.
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

  /// What M's handlers give who asks: void if nothing.
  template <class M>
  using reply = typename decltype(find_reply_in<A, M>(typename A::states{}))::type;

  /// The same for a message that is to be answered.
  template <class M>
  static void run_request(void* actor, envelope& asked) {
    A& a = *static_cast<A*>(actor);
    request_table<M>[machine(a).active_.innermost()](a, asked);
  }

  /// Nobody waits for what it gives.
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
      handler_result<R>::start(made<M, S>(a, on));
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

  // A may have members of its own with the names of the machine's.
  static state_machine<A>& machine(A& a) noexcept { return a; }

  template <class M, class S>
  static void handle(A& a, envelope& message) {
    auto& e = static_cast<carrier<M>&>(message);
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

  // The answer goes off before the state changes.
  template <class M, class S>
  static void answer(A& a, envelope& message) {
    using R = typename declared_result<A, M, S>::type;
    auto& asked = static_cast<request_of<M, reply<M>>&>(message);
    unless_answered guard{&asked};
    if constexpr (later<M, S>) {
      // The block may become the answer while the handler runs.
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
        auto handler = made<M, S>(a, on);
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

  // Who has asked is told that there is no answer: ask_error::unanswered.
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

  /// What becomes of M in each state.
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

  // A handler that is a coroutine and has not begun.
  template <class M, class S, class On>
  static auto made(A& a, const On& on) {
    using R = typename declared_result<A, M, S>::type;
    constexpr bool by_value = std::is_void_v<S>
                                  ? handles_values<A, M> || handles_values<A, M, address>
                                  : declares_on<A, R, S, M> || declares_on<A, R, S, M, address>;
    if constexpr (!by_value) {
      static_cast<void>(sizeof(coroutine_handler_must_take_its_parameters_by_value<A, M>));
    }
    // When an exclusive one is over, all that is kept is handled again.
    if constexpr (std::same_as<R, exclusive_task<typename handler_result<R>::reply>>) {
      machine(a).deferred_ = 0;
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
