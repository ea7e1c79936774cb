// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <troupe/memory/pool.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/handler.hpp>
#include <troupe/message/type_name.hpp>

namespace troupe::detail {

struct envelope;

/// What the runtime knows of one (actor, message) pair: one static record each, so that neither
/// sending nor handling looks anything up.
struct dispatch {
  /// Handles the message with the actor and frees the envelope, also when the handler throws.
  void (*run)(void* actor, envelope& message);
  /// Frees the envelope unhandled.
  void (*discard)(envelope& message) noexcept;
  std::string_view message;
  /// The handler asks for the sender, so the envelope has room for its address.
  bool wants_sender = false;
  /// Sent by the runtime itself: counts neither as a user's message nor as a dead letter.
  bool internal = false;
};

/// The head of every message on its way. The message itself lies behind it.
struct envelope {
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

template <class A, class M, bool WithSender>
void run_handler(void* actor, envelope& message) {
  auto& e = static_cast<message_envelope<M, WithSender>&>(message);
  struct free_after {
    message_envelope<M, WithSender>& e;
    ~free_after() { free_envelope(e); }
  } guard{e};
  if constexpr (WithSender) {
    static_cast<A*>(actor)->on(std::move(e.value), e.sender);
  } else {
    static_cast<A*>(actor)->on(std::move(e.value));
  }
}

template <class M, bool WithSender>
void discard_message(envelope& message) noexcept {
  free_envelope(static_cast<message_envelope<M, WithSender>&>(message));
}

template <class A, class M>
inline constexpr dispatch dispatch_of{
    .run = run_handler<A, M, handles_with_sender<A, M>>,
    .discard = discard_message<M, handles_with_sender<A, M>>,
    .message = type_name<M>(),
    .wants_sender = handles_with_sender<A, M>,
};

}  // namespace troupe::detail
