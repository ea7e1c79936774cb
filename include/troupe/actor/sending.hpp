// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/message/envelope.hpp>

namespace troupe {

namespace detail {
struct handler_frame;
struct waiting_send;
}  // namespace detail

/// Compile error: a coroutine sends an aggregate that it builds in the same expression. GCC 12
/// destroys such an object twice. Write async_send<Message>(arguments…), or
/// async_send<Message>(std::move(named)). This type is never defined; the error names it.
template <class Message>
struct build_the_message_in_place;

/// Compile error: the arguments do not match a constructor or the members of the message, or would
/// be narrowed. This type is never defined; the error names it.
template <class Message, class... Parts>
struct message_cannot_be_built_from;

/// The result of async_send(): a message that has been built and not been sent yet. A handler that
/// is a coroutine (troupe::task) awaits this object in the same expression. If it is not awaited,
/// the message is destroyed.
///
/// Threads: the turns of the handler's actor.
class [[nodiscard]] sending {
 public:
  sending(detail::control_block& to, detail::envelope* message) noexcept
      : to_(&to), message_(message) {}
  sending(const sending&) = delete;
  sending& operator=(const sending&) = delete;
  ~sending() {
    if (message_ != nullptr || waits_ != nullptr) give_up();
  }

  // ── For the coroutine ───────────────────────────────────────────────────────────────────────
  // without waiting: there was room, or the policy does not wait
  [[nodiscard]] bool is_decided() noexcept;
  /// Returns false if it was decided meanwhile. Throws std::bad_alloc, with nothing sent.
  [[nodiscard]] bool wait(detail::handler_frame& who);
  [[nodiscard]] delivery became() const noexcept { return became_; }
  void decided(delivery became) noexcept {
    became_ = became;
    waits_ = nullptr;
  }

 private:
  void give_up() noexcept;

  detail::control_block* to_;  // held by the handle that made this, until wait() holds it
  detail::envelope* message_;  // null: sent, or owned by waits_
  detail::waiting_send* waits_ = nullptr;
  delivery became_ = delivery::refused;
};

namespace detail {

template <class M, class... Parts>
struct sent_message {
  using type = M;
};
template <class Part>
struct sent_message<void, Part> {
  using type = std::remove_cvref_t<Part>;
};

// A type that GCC 12 destroys twice if the object is built from braces within the co_await. An
// object that is moved from has the same type and cannot be told from it.
template <class Part>
inline constexpr bool may_be_destroyed_twice =
    !std::is_lvalue_reference_v<Part> && std::is_aggregate_v<std::remove_cvref_t<Part>> &&
    !std::is_trivially_destructible_v<std::remove_cvref_t<Part>>;

// The same for a function object: a lambda with captures, or an aggregate.
template <class Function>
inline constexpr bool function_may_be_destroyed_twice =
    !std::is_lvalue_reference_v<Function> &&
    !std::is_trivially_destructible_v<std::remove_cvref_t<Function>> &&
    (std::is_aggregate_v<std::remove_cvref_t<Function>> ||
     !std::is_default_constructible_v<std::remove_cvref_t<Function>>);

// A caller that names the type asserts that it moves from a named object.
template <class Named, class Part>
concept safe_to_await = !may_be_destroyed_twice<Part> || std::same_as<Named, Part>;

template <class M>
inline constexpr bool is_built_with_braces = std::is_aggregate_v<M> || std::is_scalar_v<M>;

template <class M, class... Parts>
concept built_with_braces_from =
    is_built_with_braces<M> && requires(Parts&&... parts) { M{std::forward<Parts>(parts)...}; };

template <class M, class... Parts>
concept built_with_parentheses_from =
    !is_built_with_braces<M> && std::is_constructible_v<M, Parts...>;

template <class M, class... Parts>
M build_message(Parts&&... parts) {
  if constexpr (built_with_braces_from<M, Parts...>) {
    return M{std::forward<Parts>(parts)...};
  } else if constexpr (built_with_parentheses_from<M, Parts...>) {
    return M(std::forward<Parts>(parts)...);
  } else {
    static_cast<void>(sizeof(message_cannot_be_built_from<M, Parts...>));
  }
}

template <bool WithSender, class Named, class M, class... Parts>
envelope* build_envelope(const dispatch& how, Parts&&... parts) {
  message_envelope<M, WithSender>* e;
  if constexpr (std::is_void_v<Named>) {
    e = make_envelope<WithSender>(how, std::forward<Parts>(parts)...);
  } else {
    e = make_envelope<WithSender>(how, build_message<M>(std::forward<Parts>(parts)...));
  }
  if constexpr (WithSender) e->sender = current_address();
  return e;
}

}  // namespace detail
}  // namespace troupe
