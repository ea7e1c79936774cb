// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <troupe/message/envelope.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

/// Ticks whose actors are through with them, until who has the mutex of the timers takes them back: a stack
/// from which all are taken at once (Treiber, «Systems programming: coping with parallelism», 1986).
///
/// Threads: push() from any; take_all() from one at a time.
/// Cost:    push(): a compare-and-swap. take_all(): a load where there are none.
class handled_ticks {
 public:
  /// The caller does not touch it any more.
  void push(envelope& tick) noexcept {
    // [handled] relaxed: only to have something to begin with.
    envelope* first = first_.load(relaxed);
    do {
      tick.next = first;
      // [handled] release: all that its actor did with it comes before it is used again.
    } while (!first_.compare_exchange_weak(first, &tick, release, relaxed));
  }

  /// The last one, and by `next` those before; null: none.
  [[nodiscard]] envelope* take_all() noexcept {
    // [handled] relaxed: what it says is empty may be filled just now; the next one will see it. Who pushed
    // himself, or was told of it, sees that.
    if (first_.load(relaxed) == nullptr) return nullptr;
    // [handled] acquire: with the push of each.
    return first_.exchange(nullptr, acquire);
  }

 private:
  atomic<envelope*> first_{nullptr};
};

}  // namespace troupe::detail
