// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/sync/atomic.hpp>

namespace troupe::http::detail {

/// Counts the messages of one connection that are with its session, and wakes the reader when the
/// count has fallen far enough.
///
/// Threads:   give_back() from anywhere; the rest from the reader's.
/// Invariant: after wait_for(n) returned false, exactly one give_back() returns true, and by then
///            at most n messages are out.
/// Cost:      one read-modify-write each.
class window {
 public:
  /// One more message is out. Returns their number.
  std::uint32_t take() noexcept {
    return count_of(state_.fetch_add(1, relaxed)) + 1;  // [window] relaxed: publishes nothing
  }

  /// Returns true if at most `most` are out. Otherwise the give_back() that reaches `most` returns
  /// true; this replaces an earlier wait.
  [[nodiscard]] bool wait_for(std::uint32_t most) noexcept {
    std::uint64_t seen = state_.load(relaxed);  // [window] relaxed: checked by the exchange
    std::uint64_t next;
    do {
      const std::uint32_t count = count_of(seen);
      next = count <= most ? count : count | (std::uint64_t{most} + 1) << 32;
      // [window] relaxed: the reader's next action depends on the count alone.
    } while (!state_.compare_exchange_weak(seen, next, relaxed));
    return next >> 32 == 0;
  }

  /// One message less is out. If it returns true, wake the reader.
  [[nodiscard]] bool give_back() noexcept {
    std::uint64_t seen = state_.load(relaxed);  // [window] relaxed: checked by the exchange
    std::uint64_t next;
    bool tell;
    do {
      next = seen - 1;
      const std::uint64_t awaited = seen >> 32;  // 0: no wait; n + 1: a wait for n
      tell = awaited != 0 && count_of(next) < awaited;
      if (tell) next = count_of(next);
      // [window] relaxed: the message to the reader provides the ordering.
    } while (!state_.compare_exchange_weak(seen, next, relaxed));
    return tell;
  }

  [[nodiscard]] std::uint32_t out() const noexcept {
    return count_of(state_.load(relaxed));  // [window] relaxed: as in take()
  }

 private:
  static std::uint32_t count_of(std::uint64_t state) noexcept {
    return static_cast<std::uint32_t>(state);
  }

  atomic<std::uint64_t> state_{0};  // low half: number of messages out; high half: awaited number +
                                    // 1
};

}  // namespace troupe::http::detail
