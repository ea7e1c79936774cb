// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <troupe/actor/actor_type.hpp>
#include <troupe/actor/overflow_policy.hpp>
#include <troupe/actor/ref.hpp>

namespace troupe {

/// For spawn_options::max_messages and max_bytes.
inline constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

namespace detail {

/// Maps one message or request of an actor class to its counterpart in another class; null: it has
/// no counterpart. If the envelope has to be made anew, `remake` does so.
struct redirected_message {
  const dispatch* from;
  const dispatch* to;
  envelope* (*remake)(envelope& message, const dispatch& to);
};

/// Chooses receivers for the messages to a router, which has no mailbox of its own.
struct routes {
  /// Returns the receiver of this message; null: no worker is left. The routes keep the receiver
  /// alive. Called on the sender's thread, which may be any thread.
  [[nodiscard]] virtual control_block* choose(const envelope& message) const noexcept = 0;
  /// Returns true if any worker is left.
  [[nodiscard]] virtual bool any_is_left() const noexcept = 0;
  /// Returns the load of the least loaded worker, as the state words of the mailboxes show it.
  [[nodiscard]] virtual std::uint32_t least_load() const noexcept = 0;

 protected:
  ~routes() = default;
};

struct overload_access;

struct redirection {
  const actor_type* from;
  control_block* to;  // held
  const redirected_message* table;
  std::size_t table_size;

  redirection(const actor_type& of, control_block& target, const redirected_message* messages,
              std::size_t count) noexcept
      : from(&of), to(&target), table(messages), table_size(count) {
    to->hold();
  }
  redirection(const redirection&) = delete;
  redirection& operator=(const redirection&) = delete;
  ~redirection() { to->let_go(); }
};

template <class M, bool From, bool To>
envelope* remake_envelope(envelope& message, const dispatch& to) {
  auto& old = static_cast<message_envelope<M, From>&>(message);
  auto* const fresh = make_envelope<To>(to, std::move(old.value));
  if constexpr (To) fresh->sender = current_address();
  free_envelope(old);
  return fresh;
}

template <class A, class B, class M>
constexpr redirected_message redirect_message() noexcept {
  constexpr bool from = handles_with_sender<A, M>;
  constexpr bool to = handles_with_sender<B, M>;
  return {&dispatch_of<A, M>, &dispatch_of<B, M>,
          from == to ? nullptr : remake_envelope<M, from, to>};
}

// A request for which B has another reply type than A is refused.
template <class A, class B, class M>
constexpr redirected_message redirect_question() noexcept {
  if constexpr (answers<A, M> && answers<B, M>) {
    if constexpr (std::same_as<reply_of<A, M>, reply_of<B, M>>) {
      return {&request_dispatch_of<A, M>, &request_dispatch_of<B, M>, nullptr};
    } else {
      return {&request_dispatch_of<A, M>, nullptr, nullptr};
    }
  } else if constexpr (answers<A, M>) {
    return {&request_dispatch_of<A, M>, nullptr, nullptr};
  } else {
    return {nullptr, nullptr, nullptr};
  }
}

template <class A, class B, class Messages>
struct redirect_table;
template <class A, class B, class... Ms>
struct redirect_table<A, B, messages<Ms...>> {
  static_assert((understands<B, Ms> && ...),
                "the redirection target must understand every message type of the actor");
  static constexpr redirected_message of[] = {redirect_message<A, B, Ms>()...,
                                              redirect_question<A, B, Ms>()...};
};

}  // namespace detail

/// Overload policy: the treatment of a message that would exceed a mailbox's limits. The default is
/// backpressure:
///
/// `backpressure`: lossless. Once max_messages or max_bytes is reached, a sending actor is
///                  suspended after its current handler: send() accepts the message, returns
///                  `paused`, and the actor is not scheduled until the mailbox is half empty. A
///                  plain thread waits inside of send(), before the message is accepted. A thread
///                  that has a pump, a hook and a constructor do not wait: send() accepts the
///                  message and returns `paused`. An actor that sends to itself is not suspended.
///                  Messages accepted beyond the limit are charged to the overdraft, half of
///                  system_options::memory_budget; only an exhausted budget refuses a message.
///                  Where suspended senders would form a wait cycle, the last one continues beyond
///                  the limit; that is counted (overload_counts::wait_cycles).
/// `refuse`:        send() returns `refused`, and the message is destroyed.
/// `drop_newest`:   the message is destroyed; send() returns `dropped`.
/// `drop_oldest`:   the message is accepted, and the oldest ones are destroyed to make room. The
///                  mailbox allocates max_messages places at the start, so this must not be
///                  no_limit, and sending takes a lock. A message takes the place of a dropped one,
///                  so it may be handled before a stop() that was sent before it.
/// `fail_receiver`: the message is refused, and the receiver terminates as failed; the failure
///                  names what it was doing.
/// `redirect_to`:   the message goes to another actor; if that one is full as well, its refusal is
///                  the result.
///
/// A class may declare the policy of its actors. The compiler then warns where the result of send()
/// to one of them is ignored:
///
///   class gauge : public troupe::actor {
///    public:
///     static constexpr auto on_full = troupe::overflow_policy::refuse;
///
/// `of_class`, the default of spawn_options, is that policy, or else backpressure. A policy chosen
/// at spawn is not part of the type of a ref: the caller must check the result without a warning.
///
/// Timers, replies, `down` messages and the runtime's own messages are always accepted and do not
/// count towards any limit. Messages that are refused, dropped or redirected, and suspensions, are
/// counted: see overload_counts in events.hpp.
class overflow {
 public:
  using policy = overflow_policy;

  static const overflow backpressure;
  static const overflow refuse;
  static const overflow drop_newest;
  static const overflow drop_oldest;
  static const overflow fail_receiver;
  static const overflow of_class;

  /// Redirects to an actor of the same class. When spawning an A, which lists the messages that it
  /// understands as `messages`, the target may be of another class that understands all of these.
  /// Keeps the target alive.
  /// Errors: spawn() throws std::invalid_argument if the spawned class is not A.
  template <class A = void, class B>
  [[nodiscard]] static overflow redirect_to(const ref<B>& target) {
    using From = std::conditional_t<std::is_void_v<A>, B, A>;
    overflow chosen(policy::redirect);
    detail::control_block& to = detail::ref_access::block(target);
    if constexpr (std::is_same_v<From, B>) {
      chosen.target_ = std::make_shared<detail::redirection>(detail::actor_type_of<B>, to, nullptr,
                                                             std::size_t{0});
    } else if constexpr (!detail::declares_messages<From>) {
      static_assert(
          detail::declares_messages<From>,
          "redirect_to<A>: A must list its message types: using messages = troupe::messages<…>");
    } else {
      using table = detail::redirect_table<From, B, typename From::messages>;
      chosen.target_ = std::make_shared<detail::redirection>(detail::actor_type_of<From>, to,
                                                             table::of, std::size(table::of));
    }
    return chosen;
  }

  [[nodiscard]] constexpr policy what() const noexcept { return what_; }
  [[nodiscard]] const std::shared_ptr<const detail::redirection>& target() const noexcept {
    return target_;
  }
  [[nodiscard]] const std::shared_ptr<const detail::routes>& routes() const noexcept {
    return routes_;
  }

 private:
  friend struct detail::overload_access;
  constexpr explicit overflow(policy what) noexcept : what_(what) {}

  policy what_;
  std::shared_ptr<const detail::redirection> target_;
  std::shared_ptr<const detail::routes> routes_;
};

inline constinit const overflow overflow::backpressure{policy::backpressure};
inline constinit const overflow overflow::refuse{policy::refuse};
inline constinit const overflow overflow::drop_newest{policy::drop_newest};
inline constinit const overflow overflow::drop_oldest{policy::drop_oldest};
inline constinit const overflow overflow::fail_receiver{policy::fail_receiver};
inline constinit const overflow overflow::of_class{policy::of_class};

namespace detail {

/// Lets higher layers make routers.
struct overload_access {
  static overflow route(std::shared_ptr<const routes> by) noexcept {
    overflow chosen(overflow::policy::route);
    chosen.routes_ = std::move(by);
    return chosen;
  }
};

}  // namespace detail

}  // namespace troupe
