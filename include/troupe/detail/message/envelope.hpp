// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/message/type_identity.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/handler.hpp>
#include <troupe/message/limits.hpp>
#include <troupe/message/owned_bytes.hpp>
#include <troupe/message/priority.hpp>
#include <troupe/message/type_name.hpp>

namespace troupe::detail {

struct envelope;

/// The runtime's record of one (actor, message) pair: one static record for each, so that neither
/// sending nor handling needs a lookup.
struct dispatch {
  /// Handles the message with the actor and frees the envelope, also when the handler throws.
  void (*run)(void* actor, envelope& message);
  /// Frees the envelope unhandled.
  void (*discard)(envelope& message) noexcept;
  std::string_view message;
  /// The handler takes the sender, so the envelope has space for its address.
  bool wants_sender = false;
  /// Sent by the runtime itself: counts neither as a user's message nor as a dead letter.
  bool internal = false;
  /// It is handled even while an exclusive handler is suspended: it causes no user code to run
  /// except for that handler.
  bool at_once = false;
  /// 1: it counts towards limits and budgets, and may be refused. 0: it is always accepted.
  std::uint8_t weight = 0;
  /// The bytes that it counts for, without those that it owns.
  std::uint32_t bytes = 0;
  /// Returns the bytes that the message in this envelope owns in addition; null: it declares none.
  std::size_t (*owned)(const envelope& one) noexcept = nullptr;
  /// How many of these messages a mailbox accepts at once, and the index of that limit in the actor
  /// class; 0: no limit.
  std::uint16_t most = 0;
  std::uint16_t limit = 0;
  /// It is handled before messages that are not high.
  bool high = false;
  /// False: sending it involves more than the limits of the mailbox.
  bool plain = true;
  /// If it fails its actor, it is handled once more after a restart.
  bool redelivered = false;
  /// It expects a reply.
  bool is_request = false;
  /// The type of the message, if it is a user's: see is_same_message().
  type_identity type = {};

  [[nodiscard]] std::size_t charge(const envelope& one) const noexcept {
    return bytes + (owned != nullptr ? owned(one) : 0);
  }
};

/// Returns true for two records of the same message and actor class in different shared libraries.
[[nodiscard]] inline bool is_same_message(const dispatch& a, const dispatch& b) noexcept {
  return &a == &b ||
         (a.is_request == b.is_request && a.type == b.type && a.type != type_identity{});
}

/// The header of every message in transit. The message itself follows it. Its alignment leaves four
/// bits of its address free for the mailbox.
struct alignas(16) envelope {
  envelope* next = nullptr;
  const dispatch* how = nullptr;
};

template <class M, bool WithSender>
struct message_envelope : envelope {
  explicit message_envelope(const dispatch& how_to, M&& from)
      : envelope{nullptr, &how_to}, value(std::move(from)) {}
  explicit message_envelope(const dispatch& how_to, const M& from)
      : envelope{nullptr, &how_to}, value(from) {}

  [[no_unique_address]] M value;
};

template <class M>
struct message_envelope<M, true> : envelope {
  explicit message_envelope(const dispatch& how_to, M&& from)
      : envelope{nullptr, &how_to}, value(std::move(from)) {}
  explicit message_envelope(const dispatch& how_to, const M& from)
      : envelope{nullptr, &how_to}, value(from) {}

  [[no_unique_address]] M value;
  address sender;
};

template <class E>
void free_envelope(E& e) noexcept {
  std::destroy_at(&e);
  pool_release(&e, sizeof(E), alignof(E));
}

/// Builds a message in a block from the pool. If its constructor throws, nothing is left behind.
template <bool WithSender, class M>
[[nodiscard]] auto* make_envelope(const dispatch& how, M&& message) {
  using E = message_envelope<std::remove_cvref_t<M>, WithSender>;
  void* const block = pool_allocate(sizeof(E), alignof(E));
  struct give_back {
    void* block;
    ~give_back() {
      if (block != nullptr) pool_release(block, sizeof(E), alignof(E));
    }
  } guard{block};
  auto* const e = ::new (block) E(how, std::forward<M>(message));
  guard.block = nullptr;
  return e;
}

template <class A, class M, class Result, class... Sender>
void start_coroutine(A& actor, M& message, Sender... sender) {
  if constexpr (!handles_values<A, M, Sender...>) {
    static_cast<void>(sizeof(coroutine_handler_must_take_its_parameters_by_value<A, M>));
  } else {
    handler_result<Result>::start(actor.on(std::move(message), sender...));
  }
}

/// Called when the message has failed its actor. Returns true if the actor may be restarted, and
/// then handles the message once more; the message no longer belongs to the caller. Defined by the
/// layer that runs turns.
[[nodiscard]] bool handle_after_restart(envelope& message) noexcept;

/// As run_handler(), but the handler gets a copy: its changes to the copy have no effect on the
/// redelivered message.
template <class A, class M, bool WithSender>
void run_redelivered(void* actor, envelope& message) {
  auto& e = static_cast<message_envelope<M, WithSender>&>(message);
  struct free_after {
    message_envelope<M, WithSender>* e;
    ~free_after() {
      if (e != nullptr) free_envelope(*e);
    }
  } guard{&e};
  try {
    if constexpr (WithSender) {
      static_cast<A*>(actor)->on(M(std::as_const(e.value)), e.sender);
    } else {
      static_cast<A*>(actor)->on(M(std::as_const(e.value)));
    }
  } catch (...) {
    if (handle_after_restart(e)) guard.e = nullptr;
    throw;
  }
}

template <class A, class M, bool WithSender>
void run_handler(void* actor, envelope& message) {
  auto& e = static_cast<message_envelope<M, WithSender>&>(message);
  struct free_after {
    message_envelope<M, WithSender>& e;
    ~free_after() { free_envelope(e); }
  } guard{e};
  if constexpr (WithSender) {
    using result = on_result<A, M, address>;
    if constexpr (handler_result<result>::is_coroutine) {
      start_coroutine<A, M, result>(*static_cast<A*>(actor), e.value, e.sender);
    } else {
      static_cast<A*>(actor)->on(std::move(e.value), e.sender);
    }
  } else if constexpr (!has_handler<A, M>) {
    static_cast<A*>(actor)->on(std::move(e.value), reply<later_reply<A, M>>{});
  } else {
    using result = on_result<A, M>;
    if constexpr (handler_result<result>::is_coroutine) {
      start_coroutine<A, M, result>(*static_cast<A*>(actor), e.value);
    } else {
      static_cast<A*>(actor)->on(std::move(e.value));
    }
  }
}

/// Shared by all envelopes of one size that need no destructor: one function instead of one for
/// each type.
template <std::size_t Bytes, std::size_t Alignment>
void discard_block(envelope& e) noexcept {
  pool_release(&e, Bytes, Alignment);
}

template <class M, bool WithSender>
void discard_message(envelope& message) noexcept {
  free_envelope(static_cast<message_envelope<M, WithSender>&>(message));
}

template <class M, bool WithSender>
constexpr auto how_to_discard() noexcept {
  using E = message_envelope<M, WithSender>;
  if constexpr (std::is_trivially_destructible_v<M>) {
    return &discard_block<sizeof(E), alignof(E)>;
  } else {
    return &discard_message<M, WithSender>;
  }
}

}  // namespace troupe::detail
