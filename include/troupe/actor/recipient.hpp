// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <troupe/actor/ref.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/message/message_or_request.hpp>

namespace troupe {

namespace detail {
struct recipient_access;
}  // namespace detail

/// A counted handle to an actor of any class that understands the given messages. A component takes
/// a recipient as a parameter if it should not depend on the class of the actor.
///
/// A request is listed with the type of its reply, as the signature of a function: with
/// `recipient<deposit, long(get_balance)>`, `deposit` is sent, and `get_balance` is asked and
/// answered with a long. A message that is both sent and asked is listed in both forms.
///
/// A recipient is created from a ref, or from a recipient of more items. It is a compile error if
/// the actor does not understand one of the messages, or if the handler of a request does not reply
/// with exactly the given type.
///
/// Threads: as ref.
/// Cost:    8 bytes, plus 8 for each item; sending and asking cost one indirect load more than with
///          a ref.
/// Errors:  using an empty recipient is a broken contract: it prints a line and aborts.
template <message_or_request... Items>
class recipient {
  static_assert(sizeof...(Items) > 0,
                "recipient needs at least one message type: recipient<hello>");
  static_assert(detail::has_one_reply_each<Items...>,
                "recipient lists a message with two types of reply: list one of them");

 public:
  recipient() = default;

  template <class A>
  recipient(const ref<A>& to) noexcept
      : block_(to ? &detail::ref_access::block(to) : nullptr), table_{how<A, Items>()...} {
    if (block_ != nullptr) block_->hold();
  }
  template <class A>
  recipient(const self_ref<A>& self) noexcept
      : block_(&detail::ref_access::block(self)), table_{how<A, Items>()...} {
    block_->hold();
  }

  /// Narrows a recipient that lists all of these items and more.
  template <message_or_request... More>
    requires(sizeof...(More) > sizeof...(Items) || !std::same_as<recipient<More...>, recipient>)
  recipient(const recipient<More...>& wider) noexcept
      : block_(wider.block_), table_{wider.template how_to<Items>()...} {
    if (block_ != nullptr) block_->hold();
  }

  recipient(const recipient& other) noexcept : block_(other.block_), table_(other.table_) {
    if (block_ != nullptr) block_->hold();
  }
  recipient(recipient&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), table_(other.table_) {}
  recipient& operator=(recipient other) noexcept {
    std::swap(block_, other.block_);
    std::swap(table_, other.table_);
    return *this;
  }
  ~recipient() {
    if (block_ != nullptr) block_->let_go();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return block_ != nullptr; }

  /// Sends a message, as ref::send() does.
  template <class Message, class M = std::remove_cvref_t<Message>>
  delivery send(Message&& message) const {
    if constexpr (!detail::lists_item<M, Items...>) {
      return static_cast<delivery>(sizeof(detail::not_sendable<recipient, M, Items...>));
    } else {
      detail::control_block& to = block();
      const detail::dispatch& how = *how_to<M>();
      return how.wants_sender ? detail::post<true>(to, how, std::forward<Message>(message))
                              : detail::post<false>(to, how, std::forward<Message>(message));
    }
  }

  /// Sends a message in a coroutine, as ref::async_send() does.
  template <class Named = void, class... Parts>
  [[nodiscard]] sending async_send(Parts&&... parts) const {
    using M = typename detail::sent_message<Named, Parts...>::type;
    if constexpr (!detail::lists_item<M, Items...>) {
      return static_cast<void>(sizeof(detail::not_sendable<recipient, M, Items...>)),
             sending(block(), nullptr);
    } else if constexpr (!(detail::safe_to_await<Named, Parts> && ...)) {
      return static_cast<void>(sizeof(build_the_message_in_place<M>)), sending(block(), nullptr);
    } else {
      detail::control_block& to = block();
      const detail::dispatch& how = *how_to<M>();
      return {to,
              how.wants_sender
                  ? detail::build_envelope<true, Named, M>(how, std::forward<Parts>(parts)...)
                  : detail::build_envelope<false, Named, M>(how, std::forward<Parts>(parts)...)};
    }
  }

  /// Sends a request, as ref::ask() does. The list gives the type of the reply: `long(get_balance)`
  /// is asked with `ask<get_balance>(50ms)`, and the result is an ask_future<long>.
  template <class Named = void, class... Parts>
  auto ask(duration timeout, Parts&&... parts) const {
    using M = typename detail::sent_message<Named, Parts...>::type;
    using Item = typename detail::request_in_list<M, Items...>::type;
    if constexpr (std::is_void_v<Item>) {
      return static_cast<void>(sizeof(detail::not_askable<recipient, M, Items...>));
    } else if constexpr (!(detail::safe_to_await<Named, Parts> && ...)) {
      return static_cast<void>(sizeof(build_the_message_in_place<M>));
    } else {
      using R = typename detail::listed_item<Item>::reply_type;
      detail::control_block& to = block();
      return ask_future<R>(
          to, detail::make_request<M, R>(request_how<Item>(), std::forward<Parts>(parts)...),
          timeout);
    }
  }

  /// Forwards a request, as ref::pass_on() does.
  template <class Named = void, class R, class... Parts>
  delivery pass_on(reply<R> owed, Parts&&... parts) const {
    using M = typename detail::sent_message<Named, Parts...>::type;
    using Item = typename detail::request_in_list<M, Items...>::type;
    if constexpr (std::is_void_v<Item>) {
      return static_cast<delivery>(sizeof(detail::not_askable<recipient, M, Items...>));
    } else if constexpr (!std::same_as<typename detail::listed_item<Item>::reply_type, R>) {
      return static_cast<delivery>(sizeof(reply_type_does_not_fit<recipient, M, R>));
    } else {
      detail::control_block& to = block();
      detail::request& onwards =
          detail::make_request<M, R>(request_how<Item>(), std::forward<Parts>(parts)...);
      detail::reply_access::hand_over(owed, onwards);
      return to.send(onwards);
    }
  }

  /// Sends a message after a delay, as ref::send_after() does.
  template <class Message, class M = std::remove_cvref_t<Message>>
  timer send_after(duration delay, Message&& message) const {
    if constexpr (!detail::lists_item<M, Items...>) {
      return static_cast<void>(sizeof(detail::not_sendable<recipient, M, Items...>)), timer{};
    } else {
      detail::control_block& to = block();
      const detail::dispatch& how = *how_to<M>();
      return how.wants_sender
                 ? detail::arm_once<true>(to, how, delay, std::forward<Message>(message))
                 : detail::arm_once<false>(to, how, delay, std::forward<Message>(message));
    }
  }

  /// Stops the actor, as ref::stop() does. For a router, it stops the router itself, and none of
  /// its workers.
  void stop() const { block().stop(); }
  /// Stops the actor after its current message, as ref::stop_now() does.
  void stop_now() const { block().stop_now(); }

  /// Waits for the termination of the actor, as ref::join() does.
  exit_reason join() const { return detail::join(block()); }
  [[nodiscard]] std::optional<exit_reason> join_until(time_point deadline) const {
    return detail::join_until(block(), deadline);
  }
  [[nodiscard]] std::optional<exit_reason> join_for(duration time) const {
    return join_until(later(clock::now(), time));
  }

  [[nodiscard]] troupe::address address() const noexcept { return block().where(); }
  operator troupe::address() const noexcept { return block_ ? block_->where() : troupe::address{}; }

  friend bool operator==(const recipient& a, const recipient& b) noexcept {
    return a.block_ == b.block_;
  }
  friend auto operator<=>(const recipient& a, const recipient& b) noexcept {
    return std::compare_three_way{}(a.block_, b.block_);
  }

 private:
  template <message_or_request...>
  friend class recipient;
  friend struct detail::recipient_access;

  template <class A, class Item>
  static const detail::dispatch* how() noexcept {
    using M = typename detail::listed_item<Item>::message_type;
    if constexpr (!understands<A, M>) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<A, M>)), nullptr;
    } else if constexpr (!detail::request_signature<Item>) {
      return &detail::dispatch_of<A, M>;
    } else if constexpr (!detail::answers<A, M> && detail::handles_batches<A, M> &&
                         !detail::has_handler<A, M>) {
      return static_cast<void>(sizeof(batch_handler_answers_no_question<A, M>)), nullptr;
    } else if constexpr (!detail::answers<A, M>) {
      return static_cast<void>(sizeof(asked_handler_returns_nothing<A, M>)), nullptr;
    } else if constexpr (!std::same_as<detail::reply_of<A, M>,
                                       typename detail::listed_item<Item>::reply_type>) {
      return static_cast<void>(sizeof(
                 reply_type_does_not_fit<A, M, typename detail::listed_item<Item>::reply_type>)),
             nullptr;
    } else {
      return &detail::request_dispatch_of<A, M>;
    }
  }

  template <class Item>
  [[nodiscard]] const detail::dispatch* how_to() const noexcept {
    if constexpr (!detail::lists_item<Item, Items...>) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<recipient, Item>)), nullptr;
    } else {
      return table_[detail::place_in_list<Item, Items...>()];
    }
  }
  // The records of requests are the only ones in the table at the places of requests.
  template <detail::request_signature Item>
  [[nodiscard]] const detail::request_dispatch& request_how() const noexcept {
    return static_cast<const detail::request_dispatch&>(*how_to<Item>());
  }

  [[nodiscard]] detail::control_block& block() const noexcept {
    TROUPE_EXPECTS(block_ != nullptr, "an empty troupe::recipient was used: assign a ref to it");
    return *block_;
  }

  detail::control_block* block_ = nullptr;
  std::array<const detail::dispatch*, sizeof...(Items)> table_{};
};

namespace detail {

template <class Handle>
inline constexpr bool is_recipient = false;
template <message_or_request... Items>
inline constexpr bool is_recipient<recipient<Items...>> = true;

/// Lets higher layers make a recipient from a block that they hold and from the dispatch table of
/// its class.
struct recipient_access {
  template <message_or_request... Items>
  static control_block& block(const recipient<Items...>& of) noexcept {
    return of.block();
  }
  template <message_or_request... Items>
  static const auto& table(const recipient<Items...>& of) noexcept {
    return of.table_;
  }
  template <message_or_request... Items>
  static recipient<Items...> adopt(control_block* held, const dispatch* const* how) noexcept {
    recipient<Items...> made;
    made.block_ = held;
    std::copy_n(how, sizeof...(Items), made.table_.begin());
    return made;
  }
};

}  // namespace detail

}  // namespace troupe

template <troupe::message_or_request... Items>
struct std::hash<troupe::recipient<Items...>> {
  std::size_t operator()(const troupe::recipient<Items...>& of) const noexcept {
    return troupe::address(of).hash();
  }
};
