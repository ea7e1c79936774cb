// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <troupe/detail/sync/atomic.hpp>

namespace troupe::detail {

/// Maintains a flag that says whether the bytes in mailboxes, as far as threads have reported them,
/// have reached a bound.
///
/// Threads: add() may be called by any.
class memory_budget {
 public:
  /// `is_over` is read by every send, and must outlive this.
  memory_budget(std::size_t bound, atomic<bool>& is_over) noexcept
      : bound_(bound), is_over_(is_over) {}

  /// No thread may call add() meanwhile.
  void start(std::size_t bound) noexcept {
    bound_ = bound;
    told_.store(0, relaxed);         // [budget] relaxed: no other thread uses it yet
    is_over_.store(false, relaxed);  // [budget] the same
  }

  /// Adds a number of bytes, which may be negative.
  void add(std::int64_t bytes) noexcept {
    // [budget] seq_cst, all of these: a thread that stores the flag reads the total again. That
    // read comes after every addition whose thread has read the flag's old value. With a weaker
    // order, the last thread to store could have read an older total, and the flag would stay
    // wrong.
    std::int64_t now = told_.fetch_add(bytes, seq_cst) + bytes;
    for (;;) {
      const bool over = now > 0 && static_cast<std::size_t>(now) >= bound_;
      if (is_over_.load(seq_cst) == over) return;
      is_over_.store(over, seq_cst);
      now = told_.load(seq_cst);
    }
  }

 private:
  std::size_t bound_;
  atomic<bool>& is_over_;
  atomic<std::int64_t> told_{0};
};

}  // namespace troupe::detail
