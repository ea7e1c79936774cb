// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>

#include <troupe/message/address.hpp>

// Finds an actor's handlers: overloads named `on` whose first parameter is exactly the message (M,
// const M& or M&&), so that a conversion never selects one: a float does not reach on(long).

namespace troupe {

/// A type that can be sent: a value that can be moved into the mailbox.
template <class M>
concept message =
    std::is_object_v<M> && std::same_as<M, std::remove_cvref_t<M>> && std::move_constructible<M>;

/// A reply that a handler sends later: see actor/reply.hpp.
template <class R>
class reply;

namespace detail {

template <class A, class... Parameters>
using on_result = decltype(std::declval<A&>().on(std::declval<Parameters>()...));

// Taking the address with a full signature excludes conversions.
template <class A, class Result, class... Parameters>
concept declares_on = requires { static_cast<Result (A::*)(Parameters...)>(&A::on); } ||
                      requires { static_cast<Result (A::*)(Parameters...) const>(&A::on); };

template <class A, class M, class... More>
concept has_handler = requires { typename on_result<A, M, More...>; } &&
                      (declares_on<A, on_result<A, M, More...>, M, More...> ||
                       declares_on<A, on_result<A, M, More...>, const M&, More...> ||
                       declares_on<A, on_result<A, M, More...>, M&&, More...>);

template <class A, class M>
concept declares_with_sender = has_handler<A, M, address> || has_handler<A, M, const address&>;

// A class that chooses its handlers by more than the message's type (a state machine) names the
// class that does so. That class has the static members handles<M>, wants_sender<M> and
// run<M>(void* actor, envelope&).
template <class A>
concept has_handler_choice = requires { typename A::handler_choice; };

template <class A, class M>
consteval bool chooses_handler() {
  if constexpr (has_handler_choice<A>) {
    return A::handler_choice::template handles<M>;
  } else {
    return false;
  }
}

template <class A, class M>
consteval bool is_told_the_sender() {
  if constexpr (chooses_handler<A, M>()) {
    return A::handler_choice::template wants_sender<M>;
  } else {
    return declares_with_sender<A, M>;
  }
}

template <class A, class M>
concept handles_with_sender = is_told_the_sender<A, M>();

// The R of on(M, reply<R>): deduced from the one overload that matches.
template <class M, class C, class R>
std::type_identity<R> deduce_reply(void (C::*)(M, reply<R>));
template <class M, class C, class R>
std::type_identity<R> deduce_reply(void (C::*)(M, reply<R>) const);

template <class A, class M>
consteval auto find_later_reply() {
  if constexpr (requires { deduce_reply<M>(&A::on); }) {
    return decltype(deduce_reply<M>(&A::on)){};
  } else if constexpr (requires { deduce_reply<const M&>(&A::on); }) {
    return decltype(deduce_reply<const M&>(&A::on)){};
  } else if constexpr (requires { deduce_reply<M&&>(&A::on); }) {
    return decltype(deduce_reply<M&&>(&A::on)){};
  }
}

/// The type with which A replies later to M.
template <class A, class M>
using later_reply = typename decltype(find_later_reply<A, M>())::type;

template <class A, class M>
concept replies_later = requires { typename later_reply<A, M>; };

// on(std::span<M>) or on(std::span<const M>): several messages at once. Not for a class that
// chooses its handlers.
template <class A, class Batch>
concept declares_batch_of = has_handler<A, Batch> || has_handler<A, Batch, address> ||
                            has_handler<A, Batch, const address&>;
template <class A, class M>
consteval bool is_given_batches() {
  if constexpr (!std::is_object_v<M> || std::is_array_v<M> || chooses_handler<A, M>()) {
    return false;
  } else {
    return declares_batch_of<A, std::span<M>> || declares_batch_of<A, std::span<const M>>;
  }
}

template <class A, class M>
concept handles_batches = is_given_batches<A, M>();

/// The use of a handler's return value: it is ignored. Coroutines have a specialisation.
template <class Result>
struct handler_result {
  static constexpr bool is_coroutine = false;
};

// All parameters of the handler are taken by value.
template <class A, class M, class... More>
concept handles_values = declares_on<A, on_result<A, M, More...>, M, More...>;

}  // namespace detail

/// Lists all messages that an actor class understands, if the class declares it:
/// `using messages = troupe::messages<a, b>;`. The list is enforced: no other message can be sent
/// to the actor. Redirecting messages to another class requires the list.
template <class... Ms>
struct messages {
  template <class M>
  static constexpr bool contains = (std::same_as<Ms, M> || ...);
};

namespace detail {

template <class A>
concept declares_messages = requires { typename A::messages; };

template <class A, class M>
consteval bool is_declared() {
  if constexpr (declares_messages<A>) {
    return A::messages::template contains<M>;
  } else {
    return true;
  }
}

}  // namespace detail

/// Compile error: a message in an actor's `redelivered` list cannot be copied, or its handler is a
/// coroutine, takes a batch or takes a troupe::reply. This type is never defined; the error names
/// it.
template <class Actor, class Message>
struct cannot_be_redelivered;

namespace detail {

// `using redelivered = troupe::messages<…>;`: see supervisor.hpp.
template <class A, class M>
consteval bool redelivers() {
  if constexpr (requires { typename A::redelivered; }) {
    return A::redelivered::template contains<M>;
  } else {
    return false;
  }
}

template <class A, class M>
consteval bool can_be_redelivered() {
  if constexpr (!std::copy_constructible<M> || handles_batches<A, M>) {
    return false;
  } else if constexpr (declares_with_sender<A, M>) {
    return !handler_result<on_result<A, M, address>>::is_coroutine;
  } else if constexpr (has_handler<A, M>) {
    return !handler_result<on_result<A, M>>::is_coroutine;
  } else {
    return false;
  }
}

}  // namespace detail

/// True if actor A has a handler for exactly M: `on(M)`, `on(M, address sender)`,
/// `on(M, reply<R>)`, or `on(std::span<M>)`; or, in a state machine, one in any of its states.
template <class A, class M>
concept understands = (detail::has_handler<A, M> || detail::handles_with_sender<A, M> ||
                       detail::replies_later<A, M> || detail::chooses_handler<A, M>() ||
                       detail::handles_batches<A, M>)&&detail::is_declared<A, M>();

/// Compile error: a message is sent to an actor that has no `on` for exactly this type. Add
/// `void on(Message)` to Actor, or send a message that it understands. This type is never defined;
/// the error names it.
template <class Actor, class Message>
struct actor_does_not_understand_message;

/// Compile error: on(std::span<Message>) returns a value, or is a coroutine. The batch is destroyed
/// when the handler returns, and a result would be lost. This type is never defined; the error
/// names it.
template <class Actor, class Message>
struct batch_handler_must_return_void;

/// Compile error: a handler is declared as on(std::span<Message>, address). Each message of a batch
/// has its own sender. Put the address into the message. This type is never defined; the error
/// names it.
template <class Actor, class Message>
struct batch_handler_cannot_be_told_the_sender;

/// Compile error: a request is sent to an actor that handles the message only in batches. Each
/// request needs a reply of its own. Add on(Message) as well. This type is never defined; the error
/// names it.
template <class Actor, class Message>
struct batch_handler_answers_no_question;

/// Compile error: a handler that is a coroutine takes a reference. The referenced object no longer
/// exists when the handler continues. This type is never defined; the error names it.
template <class Actor, class Message>
struct coroutine_handler_must_take_its_parameters_by_value;

}  // namespace troupe
