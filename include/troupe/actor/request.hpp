// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/handler.hpp>

namespace troupe {

/// Compile error: a request is sent to an actor whose handler returns nothing. Make `on(Message)`
/// return the reply, or take a troupe::reply as its second parameter; or use send(). This type is
/// never defined; the error names it.
template <class Actor, class Message>
struct asked_handler_returns_nothing;

/// Compile error: a reply of type Owed is expected from Actor, whose handler of Message replies
/// with another type. A recipient lists the request as `Owed(Message)`, or a reply<Owed> is passed
/// on with the message. This type is never defined; the error names it.
template <class Actor, class Message, class Owed>
struct reply_type_does_not_fit;

namespace detail {

class answer_slot;

/// The requester, and where it waits for the reply.
struct asker {
  static constexpr std::uint32_t in_a_slot = static_cast<std::uint32_t>(-1);

  union {
    lifeline* line;     // of an actor; null: there is no requester any more
    answer_slot* slot;  // held; of a thread, or of a handler that may wait like one
  };
  std::uint32_t generation = 0;  // of the actor
  std::uint32_t place = 0;       // in the actor's wait_table; or in_a_slot
  std::uint32_t turn = 0;        // of that place
  std::uint32_t number = 0;  // of the request, if cycle detection follows it: request_cycles.hpp

  [[nodiscard]] address who() const noexcept {
    return place == in_a_slot ? address{} : address_access::make(line, generation);
  }
};

/// A message that expects a reply; afterwards, in the same block, the reply on its way back.
///
/// If it is discarded without a reply, the requester gets an error: see no_answer_scope.
struct request : envelope {
  enum class content : std::uint8_t { message, nothing, reply };

  asker from{{nullptr}};
  content holds = content::message;
  ask_error error = ask_error::unanswered;  // if it holds no reply
  std::uint16_t reply_at = 0;               // offset of the reply

  [[nodiscard]] void* reply() noexcept { return reinterpret_cast<std::byte*>(this) + reply_at; }
};

/// The dispatch record of a request, with the way to reply.
struct request_dispatch : dispatch {
  void* (*place)(request& asked) noexcept = nullptr;  // storage for the reply; destroys the message
  const dispatch* answer = nullptr;
};

template <class M, class R>
struct request_of : request {
  template <class... Parts>
  explicit request_of(const dispatch& how_to, Parts&&... parts)
      : message(build_message<M>(std::forward<Parts>(parts)...)) {
    how = &how_to;
    reply_at =
        static_cast<std::uint16_t>(reinterpret_cast<std::byte*>(&reply_) -
                                   reinterpret_cast<std::byte*>(static_cast<request*>(this)));
  }
  ~request_of() { empty(); }

  void empty() noexcept {
    switch (std::exchange(holds, content::nothing)) {
      case content::message:
        std::destroy_at(&message);
        break;
      case content::reply:
        std::destroy_at(&reply_);
        break;
      case content::nothing:
        break;
    }
  }

  union {
    M message;
    R reply_;
  };
};

// ── The type of a handler's reply ─────────────────────────────────────────────────────────────

template <class Result>
struct reply_in {
  using type = std::remove_cvref_t<Result>;
};
template <class T>
struct reply_in<task<T>> {
  using type = T;
};
template <class T>
struct reply_in<exclusive_task<T>> {
  using type = T;
};

template <class A, class M>
consteval auto reply_type() {
  if constexpr (chooses_handler<A, M>()) {
    return std::type_identity<typename A::handler_choice::template reply<M>>{};
  } else if constexpr (has_handler<A, M>) {
    return std::type_identity<typename reply_in<on_result<A, M>>::type>{};
  } else if constexpr (handles_with_sender<A, M>) {
    return std::type_identity<typename reply_in<on_result<A, M, address>>::type>{};
  } else if constexpr (!replies_later<A, M>) {
    return std::type_identity<void>{};  // only in batches
  } else {
    return std::type_identity<typename detail::later_reply<A, M>>{};
  }
}

/// The type with which A's handler of M replies; void if it does not reply.
template <class A, class M>
using reply_of = typename decltype(reply_type<A, M>())::type;

template <class A, class M>
concept answers = understands<A, M> && !std::is_void_v<reply_of<A, M>>;

// ── Replying ──────────────────────────────────────────────────────────────────────────────────

/// Sends the reply that it holds, or its error, to the requester. If the requester has terminated,
/// frees it.
void send_answer(request& answered) noexcept;
/// As send_answer(), for an envelope that is already a reply.
void bring_answer(request& answer) noexcept;

void run_answer(void*, envelope& answer);

/// Replies with the error in this_turn().no_answer.
void send_no_answer(request& asked) noexcept;

/// Returns the error for a reply object that is destroyed unfulfilled now: because of an exception,
/// or because its actor terminates.
[[nodiscard]] ask_error why_let_go() noexcept;

template <class M, class R>
void discard_answer(envelope& e) noexcept {
  free_envelope(static_cast<request_of<M, R>&>(e));
}

template <class M, class R>
constexpr auto how_to_discard_answer() noexcept {
  using E = request_of<M, R>;
  if constexpr (std::is_trivially_destructible_v<M> && std::is_trivially_destructible_v<R>) {
    return &discard_block<sizeof(E), alignof(E)>;
  } else {
    return &discard_answer<M, R>;
  }
}

template <class M, class R>
inline constexpr dispatch answer_dispatch{.run = run_answer,
                                          .discard = how_to_discard_answer<M, R>(),
                                          .message = "an answer",
                                          .internal = true,
                                          .at_once = true};

/// For all requests whose message needs no destructor.
inline void* place_for_reply_at_once(request& asked) noexcept {
  asked.holds = request::content::nothing;
  return asked.reply();
}

template <class M, class R>
void* place_for_reply(request& asked) noexcept {
  auto& r = static_cast<request_of<M, R>&>(asked);
  r.empty();
  return &r.reply_;
}

/// Throws what moving the reply throws, with nothing sent.
template <class R>
void answer_request(request& asked, R&& with) {
  using Reply = std::remove_cvref_t<R>;
  const auto& how = static_cast<const request_dispatch&>(*asked.how);
  ::new (how.place(asked)) Reply(std::forward<R>(with));
  asked.holds = request::content::reply;
  send_answer(asked);
}

template <class T>
void answer_of_task(handler_frame& frame, request& asked) {
  answer_request(
      asked, static_cast<task_promise<T>&>(static_cast<coroutine_promise&>(frame)).take_result());
}

// ── Handling a request ────────────────────────────────────────────────────────────────────────

// Reports an exception that leaves the handler to the requester.
struct unless_answered {
  request* asked;
  ~unless_answered() {
    if (asked == nullptr) return;
    const no_answer_scope as(ask_error::failed);
    asked->how->discard(*asked);
  }
};

template <class A, class M, class... Sender>
void handle_request(A& actor, request_of<M, reply_of<A, M>>& asked, Sender... sender) {
  using result = on_result<A, M, Sender...>;
  unless_answered guard{&asked};
  if constexpr (handler_result<result>::is_coroutine) {
    // Otherwise dispatch_of<A, M> does not compile, and gives the reason.
    if constexpr (handles_values<A, M, Sender...>) {
      auto handler = actor.on(std::move(asked.message), sender...);
      asked.empty();
      guard.asked = nullptr;
      handler_result<result>::start(std::move(handler), &asked,
                                    answer_of_task<typename handler_result<result>::reply>);
    }
  } else {
    using R = reply_of<A, M>;
    R with = actor.on(std::move(asked.message), sender...);
    // As answer_request(), with types that are known here.
    asked.empty();
    std::construct_at(&asked.reply_, std::move(with));
    asked.holds = request::content::reply;
    guard.asked = nullptr;
    asked.how = &answer_dispatch<M, R>;
    bring_answer(asked);
  }
}

template <class A, class M>
void run_request(void* actor, envelope& e) {
  using R = reply_of<A, M>;
  auto& asked = static_cast<request_of<M, R>&>(e);
  A& a = *static_cast<A*>(actor);
  if constexpr (has_handler<A, M>) {
    handle_request<A, M>(a, asked);
  } else if constexpr (handles_with_sender<A, M>) {
    handle_request<A, M, address>(a, asked, asked.from.who());
  } else {
    // The block may become the reply while the handler runs.
    unless_answered guard{&asked};
    M message(std::move(asked.message));
    asked.empty();
    guard.asked = nullptr;
    a.on(std::move(message), reply<R>(asked));
  }
}

/// For all requests whose message needs no destructor.
inline void discard_request_at_once(envelope& e) noexcept {
  auto& asked = static_cast<request&>(e);
  asked.holds = request::content::nothing;
  send_no_answer(asked);
}

template <class M, class R>
void discard_request(envelope& e) noexcept {
  auto& asked = static_cast<request_of<M, R>&>(e);
  asked.empty();
  send_no_answer(asked);
}

template <class M, class R>
std::size_t owned_by_request(const envelope& e) noexcept {
  const auto& asked = static_cast<const request_of<M, R>&>(e);
  return owned_bytes(asked.message);
}

template <class A, class M>
constexpr request_dispatch make_request_dispatch() noexcept {
  using R = reply_of<A, M>;
  request_dispatch d{};
  static_cast<dispatch&>(d) = dispatch_of<A, M>;  // its limits
  if constexpr (chooses_handler<A, M>()) {
    d.run = A::handler_choice::template run_request<M>;
  } else {
    d.run = run_request<A, M>;
  }
  if constexpr (std::is_trivially_destructible_v<M>) {
    d.discard = discard_request_at_once;
    d.place = place_for_reply_at_once;
  } else {
    d.discard = discard_request<M, R>;
    d.place = place_for_reply<M, R>;
  }
  d.wants_sender = false;
  d.is_request = true;
  d.bytes = sizeof(request_of<M, R>);
  d.owned = nullptr;
  if constexpr (tells_what_it_owns<M>) d.owned = owned_by_request<M, R>;
  d.answer = &answer_dispatch<M, R>;
  return d;
}

/// The record of a pair of actor class and message, for requests.
template <class A, class M>
inline constexpr request_dispatch request_dispatch_of = make_request_dispatch<A, M>();

}  // namespace detail
}  // namespace troupe
