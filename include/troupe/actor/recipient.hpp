// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include <troupe/actor/ref.hpp>
#include <troupe/base/clock.hpp>

namespace troupe {

namespace detail {
struct recipient_access;
}  // namespace detail

/// A counted handle that knows an actor only by messages that it understands. A component takes it
/// as a parameter when it does not depend on the class of the actor.
///
/// It is made from a ref, or from a recipient of more messages. A message that the actor does not
/// understand is a compile error.
///
/// Threads: as ref.
/// Cost:    8 bytes, plus 8 for each message; sending costs one indirect load more than with a ref.
/// Errors:  using an empty recipient is a broken contract: it prints a line and aborts.
template <message... Messages>
class recipient {
  static_assert(sizeof...(Messages) > 0,
                "recipient needs at least one message type: recipient<hello>");

 public:
  recipient() = default;

  template <class A>
  recipient(const ref<A>& to) noexcept
      : block_(to ? &detail::ref_access::block(to) : nullptr), table_{how<A, Messages>()...} {
    if (block_ != nullptr) block_->hold();
  }
  template <class A>
  recipient(const self_ref<A>& self) noexcept
      : block_(&detail::ref_access::block(self)), table_{how<A, Messages>()...} {
    block_->hold();
  }

  /// Narrows a recipient that understands all of these messages and more.
  template <message... More>
    requires(sizeof...(More) > sizeof...(Messages) || !std::same_as<recipient<More...>, recipient>)
  recipient(const recipient<More...>& wider) noexcept
      : block_(wider.block_), table_{wider.template how_to<Messages>()...} {
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

  /// As ref::send().
  template <class Message, class M = std::remove_cvref_t<Message>>
  delivery send(Message&& message) const {
    if constexpr (!(std::same_as<M, Messages> || ...)) {
      return static_cast<delivery>(sizeof(actor_does_not_understand_message<recipient, M>));
    } else {
      detail::control_block& to = block();
      const detail::dispatch& how = *how_to<M>();
      return how.wants_sender ? detail::post<true>(to, how, std::forward<Message>(message))
                              : detail::post<false>(to, how, std::forward<Message>(message));
    }
  }

  /// As ref::async_send().
  template <class Named = void, class... Parts>
  [[nodiscard]] sending async_send(Parts&&... parts) const {
    using M = typename detail::sent_message<Named, Parts...>::type;
    if constexpr (!(std::same_as<M, Messages> || ...)) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<recipient, M>)),
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

  /// As ref::send_after().
  template <class Message, class M = std::remove_cvref_t<Message>>
  timer send_after(duration delay, Message&& message) const {
    if constexpr (!(std::same_as<M, Messages> || ...)) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<recipient, M>)), timer{};
    } else {
      detail::control_block& to = block();
      const detail::dispatch& how = *how_to<M>();
      return how.wants_sender
                 ? detail::arm_once<true>(to, how, delay, std::forward<Message>(message))
                 : detail::arm_once<false>(to, how, delay, std::forward<Message>(message));
    }
  }

  /// As ref::stop(). For a router, it stops the router that the handle refers to, and none of its
  /// workers.
  void stop() const { block().stop(); }
  /// As ref::stop_now().
  void stop_now() const { block().stop_now(); }

  /// As ref::join().
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
  template <message...>
  friend class recipient;
  friend struct detail::recipient_access;

  template <class A, class M>
  static const detail::dispatch* how() noexcept {
    if constexpr (!understands<A, M>) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<A, M>)), nullptr;
    } else {
      return &detail::dispatch_of<A, M>;
    }
  }

  template <class M>
  [[nodiscard]] const detail::dispatch* how_to() const noexcept {
    if constexpr (!(std::same_as<M, Messages> || ...)) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<recipient, M>)), nullptr;
    } else {
      std::size_t at = 0;
      (void)((std::same_as<M, Messages> || (++at, false)) || ...);
      return table_[at];
    }
  }

  [[nodiscard]] detail::control_block& block() const noexcept {
    TROUPE_EXPECTS(block_ != nullptr, "an empty troupe::recipient was used: assign a ref to it");
    return *block_;
  }

  detail::control_block* block_ = nullptr;
  std::array<const detail::dispatch*, sizeof...(Messages)> table_{};
};

namespace detail {

/// Lets higher layers make a recipient from a block that they hold and from the dispatch table of
/// its class.
struct recipient_access {
  template <message... Messages>
  static control_block& block(const recipient<Messages...>& of) noexcept {
    return of.block();
  }
  template <message... Messages>
  static const auto& table(const recipient<Messages...>& of) noexcept {
    return of.table_;
  }
  template <message... Messages>
  static recipient<Messages...> adopt(control_block* held, const dispatch* const* how) noexcept {
    recipient<Messages...> made;
    made.block_ = held;
    std::copy_n(how, sizeof...(Messages), made.table_.begin());
    return made;
  }
};

}  // namespace detail

}  // namespace troupe

template <troupe::message... Messages>
struct std::hash<troupe::recipient<Messages...>> {
  std::size_t operator()(const troupe::recipient<Messages...>& of) const noexcept {
    return troupe::address(of).hash();
  }
};
