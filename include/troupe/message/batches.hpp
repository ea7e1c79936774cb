// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <troupe/memory/pool.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/message/handler.hpp>

// Handlers of several messages at once: void on(std::span<M>). When a message of type M is handled,
// it and the messages of the same type directly after it in the mailbox are moved into contiguous
// storage and passed together, in order, at most A::batch_max of them. If on(M) exists as well, it
// gets single messages.
//
// Messages that do not fit into 4 KiB need a block of the pool; if no memory is available for it,
// this counts as std::bad_alloc thrown by the handler.

namespace troupe::detail {

struct handled_messages {
  std::size_t messages = 0;
  std::size_t bytes = 0;
  std::size_t units = 0;
};

/// The messages after the one that is being handled, as long as they are of the same kind. The
/// destructor counts them as handled. Defined by the layer that runs turns.
class followers {
 public:
  explicit followers(const dispatch& how) noexcept : how_(how) {}
  followers(const followers&) = delete;
  followers& operator=(const followers&) = delete;
  ~followers() {
    if (counts_.messages != 0) count();
  }
  /// Takes at most `most` messages; returns them as a list, in order.
  [[nodiscard]] envelope* take(std::size_t most) noexcept;
  /// Must be called when their handler has returned.
  void done() noexcept { all_done_ = true; }

 private:
  void count() noexcept;

  const dispatch& how_;
  handled_messages counts_;
  bool all_done_ = false;
};

template <class A>
consteval std::size_t most_in_batch() {
  if constexpr (requires {
                  { A::batch_max } -> std::convertible_to<std::size_t>;
                }) {
    static_assert(A::batch_max > 0, "batch_max must be at least 1");
    return A::batch_max;
  } else {
    return 64;
  }
}

/// Memory for `Most` messages: on the stack, or a block from the pool.
template <class M, std::size_t Most, bool OnStack = (Most * sizeof(M) <= 4096)>
class batch_memory {
 public:
  [[nodiscard]] M* begin() noexcept { return std::launder(reinterpret_cast<M*>(bytes_)); }

 private:
  alignas(M) std::byte bytes_[Most * sizeof(M)];
};
template <class M, std::size_t Most>
class batch_memory<M, Most, false> {
 public:
  batch_memory() : block_(pool_allocate(Most * sizeof(M), alignof(M))) {}
  batch_memory(const batch_memory&) = delete;
  batch_memory& operator=(const batch_memory&) = delete;
  ~batch_memory() { pool_release(block_, Most * sizeof(M), alignof(M)); }
  [[nodiscard]] M* begin() noexcept { return static_cast<M*>(block_); }

 private:
  void* const block_;
};

/// Messages in contiguous storage.
template <class M, std::size_t Most>
class batch_of {
 public:
  batch_of() {}  // the memory stays uninitialised
  batch_of(const batch_of&) = delete;
  batch_of& operator=(const batch_of&) = delete;
  ~batch_of() { std::destroy_n(memory_.begin(), count_); }

  /// Moves the message out of its envelope, and frees the envelope.
  void take(envelope& message) {
    auto& e = static_cast<message_envelope<M, false>&>(message);
    struct free_after {
      message_envelope<M, false>& e;
      ~free_after() { free_envelope(e); }
    } guard{e};
    ::new (memory_.begin() + count_) M(std::move(e.value));
    ++count_;
  }
  [[nodiscard]] std::span<M> all() noexcept { return {memory_.begin(), count_}; }

 private:
  batch_memory<M, Most> memory_;
  std::size_t count_ = 0;
};

// The batch in the form in which the handler takes it.
template <class A, class M>
using given_batch = std::span<std::conditional_t<declares_batch_of<A, std::span<M>>, M, const M>>;

/// Calls the handler with a single message.
template <class A, class M>
void call_with_one(A& actor, M& message) {
  if constexpr (has_handler<A, M>) {
    using result = on_result<A, M>;
    if constexpr (handler_result<result>::is_coroutine) {
      start_coroutine<A, M, result>(actor, message);
    } else {
      actor.on(std::move(message));
    }
  } else {
    actor.on(given_batch<A, M>(&message, 1));
  }
}

template <class A, class M>
void run_one_of_batch(A& actor, envelope& message) {
  auto& e = static_cast<message_envelope<M, false>&>(message);
  struct free_after {
    message_envelope<M, false>& e;
    ~free_after() { free_envelope(e); }
  } guard{e};
  call_with_one(actor, e.value);
}

// A separate function, so that a single message does not need the memory.
template <class A, class M>
void run_several(A& actor, envelope& first, envelope* others) {
  struct discard_if_left {
    envelope* others;
    ~discard_if_left() {
      while (others != nullptr) {
        envelope& each = *std::exchange(others, others->next);
        each.how->discard(each);
      }
    }
  } left{&first};
  first.next = others;
  batch_of<M, most_in_batch<A>()> batch;
  while (left.others != nullptr) batch.take(*std::exchange(left.others, left.others->next));
  actor.on(given_batch<A, M>(batch.all()));
}

template <class A, class M>
void run_batch(void* actor, envelope& first) {
  using given = given_batch<A, M>;
  if constexpr (!has_handler<A, given>) {
    static_cast<void>(sizeof(batch_handler_cannot_be_told_the_sender<A, M>));
  } else if constexpr (!std::is_void_v<on_result<A, given>>) {
    static_cast<void>(sizeof(batch_handler_must_return_void<A, M>));
  } else {
    auto& to = *static_cast<A*>(actor);
    followers more(*first.how);
    if (envelope* const others = more.take(most_in_batch<A>() - 1)) {
      run_several<A, M>(to, first, others);
      more.done();
    } else {
      run_one_of_batch<A, M>(to, first);
    }
  }
}

}  // namespace troupe::detail
