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
#include <troupe/actor/ref.hpp>

namespace troupe {

/// For spawn_options::max_messages and max_bytes.
inline constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

namespace detail {

/// One message or question of an actor class, and what it is for another class; null: nothing. If an
/// envelope has to be made anew, how.
struct redirected_message {
  const dispatch* from;
  const dispatch* to;
  envelope* (*remake)(envelope& message, const dispatch& to);
};

/// Where the messages go of an actor that has no mailbox to speak of: a router.
struct routes {
  /// On the sender's thread, any: who gets this one; null: nobody is left. The routes keep him alive.
  [[nodiscard]] virtual control_block* choose(const envelope& message) const noexcept = 0;
  /// Whether somebody is.
  [[nodiscard]] virtual bool any_is_left() const noexcept = 0;
  /// Of the one who has the least to do, by the words of their mailboxes.
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

// A question that B answers otherwise than A is refused.
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
                "the target of a redirection must understand all that the actor understands");
  static constexpr redirected_message of[] = {redirect_message<A, B, Ms>()...,
                                              redirect_question<A, B, Ms>()...};
};

}  // namespace detail

/// What happens to a message that would exceed a mailbox's limits. Without any choice senders wait:
///
/// `pause_senders`: from max_messages or max_bytes on, send() takes the message and returns `paused`.
///   A sending actor then gets no turn after the handler that it is in, until the mailbox is half
///   empty; a plain thread waits inside of send(). From four times the limit on it refuses.
///   Nobody waits for longer than system_options::pause_max; an actor with half of its own mailbox
///   full is not paused, nor is one on which somebody waits; who sends to himself does not wait, nor an
///   actor of another system;
///   a thread with a pump does not wait either, and outside of handlers is refused by the actors that
///   it pumps itself.
/// `refuse`:        send() returns `refused`, and the message is destroyed.
/// `drop_newest`:   the message is destroyed; send() returns `dropped`.
/// `drop_oldest`:   the message is taken, and the oldest ones are destroyed to make room. The mailbox
///   has max_messages places from the start, which must not be no_limit, and sending takes a lock. A
///   message takes over the place of a dropped one, so it may be handled before a stop() that was sent
///   before it.
/// `fail_receiver`: the message is refused, and the receiver ends as failed, with what it was doing.
/// `redirect_to`:   the message goes to another actor; if that is full as well, its refusal counts.
///
/// Timers, replies, `down`s and what the runtime sends itself are always taken, and count for nothing.
/// What is refused, dropped or redirected, and each pause, is counted: see overload_counts in events.hpp.
class overload {
 public:
  enum class policy : std::uint8_t {
    pause_senders,
    refuse,
    drop_newest,
    drop_oldest,
    fail_receiver,
    redirect,
    route,  // of a router alone: whatever its limits are
  };

  static const overload pause_senders;
  static const overload refuse;
  static const overload drop_newest;
  static const overload drop_oldest;
  static const overload fail_receiver;

  /// To an actor of the same class; or for the spawn of an A, which lists what it understands as
  /// `messages`, to one of another class that understands all of these. Keeps the target alive.
  /// Errors: spawn() throws std::invalid_argument if it is given to another class than A.
  template <class A = void, class B>
  [[nodiscard]] static overload redirect_to(const ref<B>& target) {
    using From = std::conditional_t<std::is_void_v<A>, B, A>;
    overload chosen(policy::redirect);
    detail::control_block& to = detail::ref_access::block(target);
    if constexpr (std::is_same_v<From, B>) {
      chosen.target_ = std::make_shared<detail::redirection>(detail::actor_type_of<B>, to, nullptr,
                                                             std::size_t{0});
    } else if constexpr (!detail::declares_messages<From>) {
      static_assert(
          detail::declares_messages<From>,
          "redirect_to<A>: list what A understands: using messages = troupe::messages<…>");
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
  constexpr explicit overload(policy what) noexcept : what_(what) {}

  policy what_;
  std::shared_ptr<const detail::redirection> target_;
  std::shared_ptr<const detail::routes> routes_;
};

inline constinit const overload overload::pause_senders{policy::pause_senders};
inline constinit const overload overload::refuse{policy::refuse};
inline constinit const overload overload::drop_newest{policy::drop_newest};
inline constinit const overload overload::drop_oldest{policy::drop_oldest};
inline constinit const overload overload::fail_receiver{policy::fail_receiver};

namespace detail {

/// Higher layers make routers.
struct overload_access {
  static overload route(std::shared_ptr<const routes> by) noexcept {
    overload chosen(overload::policy::route);
    chosen.routes_ = std::move(by);
    return chosen;
  }
};

}  // namespace detail

}  // namespace troupe
