// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/message/call_handler.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/owned_bytes.hpp>

// A message to many receivers is stored once. Each receiver gets an envelope of 24 bytes.

namespace troupe::detail {

/// The part of a shared message that does not depend on its type. Releasing the last reference
/// frees it.
struct shared_block {
  explicit shared_block(std::size_t references) noexcept : count(references) {}

  atomic<std::size_t> count;
  void (*free)(shared_block& one) noexcept = nullptr;
  address sender;
};

inline void hold(shared_block& one) noexcept {
  one.count.fetch_add(1, relaxed);  // [shared-message] relaxed: the caller already has a reference
}

inline void let_go(shared_block& one, std::size_t references = 1) noexcept {
  // [shared-message] release: reads of the message precede its destruction; acquire: pairs with it.
  if (one.count.fetch_sub(references, acq_rel) == references) one.free(one);
}

/// True if the caller has the only reference and may move out of the message.
inline bool is_last(const shared_block& one) noexcept {
  return one.count.load(acquire) == 1;  // [shared-message] acquire: as above
}

/// The deleter for a std::unique_ptr that owns a reference.
struct let_go_of_shared {
  void operator()(shared_block* one) const noexcept { let_go(*one); }
};
using shared_reference = std::unique_ptr<shared_block, let_go_of_shared>;

template <class M>
struct shared_message : shared_block {
  template <class Message>
  shared_message(std::size_t references, Message&& message)
      : shared_block(references), value(std::forward<Message>(message)) {}
  M value;
};

template <class M>
void free_shared(shared_block& one) noexcept {
  auto& message = static_cast<shared_message<M>&>(one);
  std::destroy_at(&message);
  pool_release(&message, sizeof(message), alignof(shared_message<M>));
}

template <class M, class Message>
[[nodiscard]] shared_message<M>& make_shared_message(std::size_t references, Message&& message) {
  using block = shared_message<M>;
  void* const place = pool_allocate(sizeof(block), alignof(block));
  try {
    auto* const made = ::new (place) block(references, std::forward<Message>(message));
    made->free = free_shared<M>;
    return *made;
  } catch (...) {
    pool_release(place, sizeof(block), alignof(block));
    throw;
  }
}

struct shared_envelope : envelope {
  shared_envelope(const dispatch& how_to, shared_block& what) noexcept
      : envelope{nullptr, &how_to}, shared(&what) {}
  shared_block* const shared;  // an owned reference
};

/// Takes over a reference. Throws std::bad_alloc; the caller then keeps the reference.
[[nodiscard]] inline envelope& make_shared_envelope(const dispatch& how, shared_block& what) {
  void* const place = pool_allocate(sizeof(shared_envelope), alignof(shared_envelope));
  return *::new (place) shared_envelope(how, what);
}

inline void discard_shared(envelope& message) noexcept {
  auto& e = static_cast<shared_envelope&>(message);
  shared_block& shared = *e.shared;
  free_envelope(e);
  let_go(shared);
}

template <class A, class M>
void run_shared(void* actor, envelope& message) {
  auto& e = static_cast<shared_envelope&>(message);
  const shared_reference held(e.shared);
  free_envelope(e);
  const unwrapped_scope scope;
  auto& to = *static_cast<A*>(actor);
  auto& value = static_cast<shared_message<M>&>(*held).value;
  if constexpr (!handles_shared<A, M>) {
    if (is_last(*held)) return call_handler(to, std::move(value), held->sender);
  }
  call_handler_shared(to, std::as_const(value), held->sender);
}

template <class M>
std::size_t owned_by_shared(const envelope& message) noexcept {
  const auto& e = static_cast<const shared_envelope&>(message);
  return owned_bytes(static_cast<const shared_message<M>&>(*e.shared).value);
}

/// The dispatch record for a shared message of type M to class A. For limits it counts as if each
/// receiver had its own copy.
template <class A, class M>
inline constexpr dispatch shared_dispatch_of = [] {
  dispatch d = make_dispatch<A, M>();
  d.run = run_shared<A, M>;
  d.discard = discard_shared;
  d.type = {};  // its layout differs from a message to one receiver
  d.wants_sender = false;
  d.bytes = sizeof(shared_envelope) + sizeof(M);
  if constexpr (tells_what_it_owns<M>) d.owned = owned_by_shared<M>;
  return d;
}();

/// The same for promised messages, which count for nothing and are always accepted. The priority
/// stays, so that the retained message precedes all messages published after it.
template <class A, class M>
inline constexpr dispatch promised_shared_dispatch_of = [] {
  dispatch d = shared_dispatch_of<A, M>;
  d.weight = 0;
  d.bytes = 0;
  d.owned = nullptr;
  d.most = 0;
  return d;
}();

}  // namespace troupe::detail
