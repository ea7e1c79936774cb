// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/control_block.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/overflow_policy.hpp>
#include <troupe/actor/reply.hpp>
#include <troupe/actor/sending.hpp>
#include <troupe/actor/timer.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/base/clock.hpp>

namespace troupe {

template <class A>
class ref;
template <class A>
class self_ref;
template <class A>
class weak_ref;

namespace detail {

struct ref_access;

exit_reason join(control_block& block);
std::optional<exit_reason> join_until(control_block& block, time_point deadline);

/// Operations on an actor whose type is known, however it is held. Shared by ref and self_ref,
/// which provide block().
template <class Self, class A>
class typed_handle {
 public:
  /// Puts a message into the actor's mailbox; it is handled later, in the actor's own turn.
  ///
  /// Threads: any.
  /// Order:   messages from one sender to one receiver arrive in the order of sending. A message
  ///          that is sent in response to another one arrives after everything that was sent before
  ///          that other one (A→B, then A→C→B).
  /// Errors:  `refused` if the actor has terminated. Throws what copying or moving the message
  ///          throws, and std::bad_alloc, with nothing sent.
  /// Cost:    one block from the pool, one move, one compare-and-swap.
  template <class Message, class M = std::remove_cvref_t<Message>>
    requires(!may_be_refused<A, M>)
  delivery send(Message&& message) const {
    return send_any(std::forward<Message>(message));
  }
  /// As above, for messages that the actor's class declares may be refused or dropped, by a limit
  /// for their type (message_limits) or by its policy (on_full): the compiler warns if the result
  /// is ignored.
  template <class Message, class M = std::remove_cvref_t<Message>>
    requires may_be_refused<A, M>
  [[nodiscard("this message may be refused or dropped: check the returned delivery")]] delivery
  send(Message&& message) const {
    return send_any(std::forward<Message>(message));
  }

  /// In a handler that is a coroutine, `co_await to.async_send(message)` sends the message as
  /// soon as the receiver's mailbox is below its limit. The handler is suspended until then; no
  /// thread is blocked, and the actor handles other messages meanwhile. It waits without a
  /// time-out, until there is room or one of the two actors terminates. It waits only for receivers
  /// whose policy is backpressure; a mailbox with another policy refuses, drops or fails at once,
  /// as with send(). A message larger than three and a half times the limit, or for which a budget
  /// or the limit of its type is exhausted, is also refused at once, and counted.
  ///
  /// `async_send<M>(arguments…)` builds the message from its arguments. Send an aggregate that
  /// owns something in this way, with async_send<M>(std::move(m)), or as a copy: GCC 12
  /// destroys such an object twice if it is built within a co_await.
  ///
  /// Threads: those of the actor's turns; elsewhere it does not compile.
  /// Order:   handlers that wait for one receiver are served first in, first out, and each in the
  ///          order of its sending. A plain send() of another handler may overtake a suspended one,
  ///          whose message is not sent yet.
  /// Errors:  `refused` if the receiver has terminated or does so meanwhile; the message is a dead
  ///          letter. Throws as send(), with nothing sent.
  /// Cost:    that of send() if there is room. Otherwise a block from the pool, a mutex of the
  ///          receiver's system twice, and a message from the actor to itself.
  template <class Named = void, class... Parts>
  [[nodiscard]] sending async_send(Parts&&... parts) const {
    using M = typename sent_message<Named, Parts...>::type;
    if constexpr (!understands<A, M>) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<A, M>)),
             sending(block(), nullptr);
    } else if constexpr (!(safe_to_await<Named, Parts> && ...)) {
      return static_cast<void>(sizeof(build_the_message_in_place<M>)), sending(block(), nullptr);
    } else {
      return {block(), build_envelope<handles_with_sender<A, M>, Named, M>(
                           dispatch_of<A, M>, std::forward<Parts>(parts)...)};
    }
  }

  /// Sends a request; the value that the handler returns is the reply. The message is built in
  /// place from its arguments, `ask<withdraw>(50ms, cents)`. An existing message is sent as
  /// `ask(50ms, message)`; this does not work for an aggregate that owns something and is built in
  /// the same expression, because GCC 12 destroys such an object twice within a co_await.
  ///
  /// Threads: any. The returned object says how the reply is received.
  /// Order:   as send().
  /// Errors:  are part of the result: timeout, stopped, refused, failed, unanswered. Throws as
  ///          send(), with nothing sent.
  /// Cost:    as two messages, in one block. The time-out costs one reading of the clock.
  template <class Named = void, class... Parts>
  auto ask(duration timeout, Parts&&... parts) const {
    using M = typename sent_message<Named, Parts...>::type;
    if constexpr (!understands<A, M>) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<A, M>));
    } else if constexpr (!answers<A, M> && handles_batches<A, M> && !has_handler<A, M>) {
      return static_cast<void>(sizeof(batch_handler_answers_no_question<A, M>));
    } else if constexpr (!answers<A, M>) {
      return static_cast<void>(sizeof(asked_handler_returns_nothing<A, M>));
    } else if constexpr (!(safe_to_await<Named, Parts> && ...)) {
      return static_cast<void>(sizeof(build_the_message_in_place<M>));
    } else {
      using R = reply_of<A, M>;
      return ask_future<R>(
          block(), make_request<M, R>(request_dispatch_of<A, M>, std::forward<Parts>(parts)...),
          timeout);
    }
  }

  /// Forwards a request: sends a message whose reply goes to the original requester. If the reply
  /// is empty, the message is a request whose reply is discarded.
  /// Errors: as ask(); they are reported to the requester.
  template <class Named = void, class R, class... Parts>
  delivery pass_on(reply<R> owed, Parts&&... parts) const {
    using M = typename sent_message<Named, Parts...>::type;
    if constexpr (!understands<A, M>) {
      return static_cast<delivery>(sizeof(actor_does_not_understand_message<A, M>));
    } else if constexpr (!std::same_as<reply_of<A, M>, R>) {
      return static_cast<delivery>(sizeof(reply_type_does_not_fit<A, M, R>));
    } else {
      request& onwards =
          make_request<M, R>(request_dispatch_of<A, M>, std::forward<Parts>(parts)...);
      reply_access::hand_over(owed, onwards);
      return block().send(onwards);
    }
  }

  /// Sends the message after `delay`, never earlier. The timer belongs to the receiver: it keeps
  /// the receiver alive and ends with it.
  /// Cost: a mutex of the system, and one reading of the clock.
  template <class Message, class M = std::remove_cvref_t<Message>>
  timer send_after(duration delay, Message&& message) const {
    if constexpr (!understands<A, M>) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<A, M>)), timer{};
    } else {
      return arm_once<handles_with_sender<A, M>>(block(), dispatch_of<A, M>, delay,
                                                 std::forward<Message>(message));
    }
  }

  /// Sends a copy of the message every `period` until cancelled, the first one after one period.
  /// While a tick waits in the mailbox, no second one is added: the tick is skipped and counted. A
  /// period that is not positive is replaced by the shortest period that timers support.
  template <class Message, class M = std::remove_cvref_t<Message>>
  timer send_every(duration period, Message&& message) const {
    static_assert(std::copy_constructible<M>,
                  "send_every sends a copy each time: the message must be copyable");
    if constexpr (!understands<A, M>) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<A, M>)), timer{};
    } else if constexpr (std::copy_constructible<M>) {
      return arm_every<handles_with_sender<A, M>>(block(), dispatch_of<A, M>, period,
                                                  std::forward<Message>(message));
    }
  }

  /// Stops the actor after it has handled the messages that were sent to it before this call.
  void stop() const { block().stop(); }

  /// Stops the actor after the message that it is handling. The messages left in its mailbox are
  /// discarded; its `down` says how many there were.
  void stop_now() const { block().stop_now(); }

  [[nodiscard]] troupe::address address() const noexcept { return block().where(); }

 private:
  template <class Message, class M = std::remove_cvref_t<Message>>
  delivery send_any(Message&& message) const {
    if constexpr (!understands<A, M>) {
      return static_cast<delivery>(sizeof(actor_does_not_understand_message<A, M>));
    } else {
      return post<handles_with_sender<A, M>>(block(), dispatch_of<A, M>,
                                             std::forward<Message>(message));
    }
  }

  [[nodiscard]] control_block& block() const noexcept {
    return static_cast<const Self*>(this)->block();
  }
};

}  // namespace detail

/// A counted, typed handle to an actor. The actor lives at least as long as such a handle exists,
/// or until it is stopped or fails. A handle to a terminated actor is safe to use; its sends are
/// refused.
///
/// Threads: like a shared_ptr: different handles may be used from different threads, one handle
///          from one thread at a time.
/// Cost:    8 bytes; a copy is one atomic addition, a move is free.
/// Errors:  using an empty handle is a broken contract: it prints a line and aborts.
template <class A>
class ref : public detail::typed_handle<ref<A>, A> {
 public:
  ref() = default;
  ref(const ref& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->hold();
  }
  ref(ref&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  ref(const self_ref<A>& self) noexcept;
  ref& operator=(ref other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~ref() {
    if (block_ != nullptr) block_->let_go();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return block_ != nullptr; }

  /// Waits until the actor has terminated and its destructor has returned; returns the exit reason.
  ///
  /// Threads: any that is not inside a handler on a shared thread. On the thread of the pump that
  ///          the actor is bound to, join() runs the pump.
  /// Errors:  std::logic_error where waiting would block a worker of the pool or never end. Actors
  ///          use watch() instead.
  exit_reason join() const { return detail::join(block()); }

  /// As join(), with a deadline; returns nothing if the deadline passes first.
  [[nodiscard]] std::optional<exit_reason> join_until(time_point deadline) const {
    return detail::join_until(block(), deadline);
  }
  [[nodiscard]] std::optional<exit_reason> join_for(duration time) const {
    return join_until(later(clock::now(), time));
  }

  operator troupe::address() const noexcept { return block_ ? block_->where() : troupe::address{}; }

  friend bool operator==(const ref& a, const ref& b) noexcept { return a.block_ == b.block_; }
  friend auto operator<=>(const ref& a, const ref& b) noexcept {
    return std::compare_three_way{}(a.block_, b.block_);
  }

 private:
  friend struct detail::ref_access;
  friend class detail::typed_handle<ref<A>, A>;
  explicit ref(detail::control_block* held) noexcept : block_(held) {}

  [[nodiscard]] detail::control_block& block() const noexcept {
    TROUPE_EXPECTS(block_ != nullptr, "an empty troupe::ref was used: assign what spawn() returns");
    return *block_;
  }

  detail::control_block* block_ = nullptr;
};

/// The uncounted handle that self(this) returns, for use within the actor's own turns. To keep the
/// actor alive, convert it into a ref or a recipient.
template <class A>
class self_ref : public detail::typed_handle<self_ref<A>, A> {
 public:
  operator troupe::address() const noexcept { return block_->where(); }

 private:
  friend struct detail::ref_access;
  friend class detail::typed_handle<self_ref<A>, A>;
  explicit self_ref(detail::control_block* own) noexcept : block_(own) {}

  [[nodiscard]] detail::control_block& block() const noexcept { return *block_; }

  detail::control_block* block_;
};

/// A typed handle that does not keep its actor alive and is not counted.
///
/// Threads: a plain value; lock() may be called from any thread.
/// Cost:    16 bytes; lock() is one compare-and-swap.
template <class A>
class weak_ref {
 public:
  weak_ref() = default;
  weak_ref(const ref<A>& strong) noexcept : address_(strong) {}
  weak_ref(const self_ref<A>& self) noexcept : address_(self) {}

  /// Returns a counted handle, or an empty one if the actor has terminated.
  [[nodiscard]] ref<A> lock() const noexcept;

  [[nodiscard]] troupe::address address() const noexcept { return address_; }
  operator troupe::address() const noexcept { return address_; }

  friend bool operator==(const weak_ref&, const weak_ref&) = default;
  friend auto operator<=>(const weak_ref&, const weak_ref&) = default;

 private:
  troupe::address address_;
};

namespace detail {

/// Lets the rest of the layer make handles from control blocks, and get the block of a handle.
struct ref_access {
  template <class A>
  static ref<A> adopt(control_block* held) noexcept {
    return ref<A>(held);
  }
  template <class A>
  static self_ref<A> own(control_block* block) noexcept {
    return self_ref<A>(block);
  }
  template <class Handle>
  static control_block& block(const Handle& handle) noexcept {
    return handle.block();
  }
};

}  // namespace detail

template <class A>
ref<A>::ref(const self_ref<A>& self) noexcept : block_(&detail::ref_access::block(self)) {
  block_->hold();
}

template <class A>
ref<A> weak_ref<A>::lock() const noexcept {
  return detail::ref_access::adopt<A>(detail::control_block::hold(address_));
}

}  // namespace troupe

template <class A>
struct std::hash<troupe::ref<A>> {
  std::size_t operator()(const troupe::ref<A>& of) const noexcept {
    return troupe::address(of).hash();
  }
};

template <class A>
struct std::hash<troupe::weak_ref<A>> {
  std::size_t operator()(const troupe::weak_ref<A>& of) const noexcept {
    return of.address().hash();
  }
};
