// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::detail {

/// Ticks that their actors have handled, until the holder of the timers' mutex takes them back. A
/// stack from which all are taken at once (Treiber, "Systems programming: coping with parallelism",
/// 1986).
///
/// Threads: push() from any; take_all() from one at a time.
/// Cost:    push(): a compare-and-swap. take_all(): a load if the stack is empty.
class handled_ticks {
 public:
  /// The caller must not touch the tick afterwards.
  void push(envelope& tick) noexcept {
    // [handled] relaxed: only an initial value for the exchange.
    envelope* first = first_.load(relaxed);
    do {
      tick.next = first;
      // [handled] release: everything its actor did with the tick happens before the tick is used
      // again.
    } while (!first_.compare_exchange_weak(first, &tick, release, relaxed));
  }

  /// Returns the last one pushed, with the earlier ones linked by `next`; null: none.
  [[nodiscard]] envelope* take_all() noexcept {
    // [handled] relaxed: an empty stack may be filled just now; the next call will see that. A
    // thread that pushed itself, or was notified of the push, sees the push.
    if (first_.load(relaxed) == nullptr) return nullptr;
    // [handled] acquire: pairs with each push.
    return first_.exchange(nullptr, acquire);
  }

 private:
  atomic<envelope*> first_{nullptr};
};

}  // namespace troupe::detail
