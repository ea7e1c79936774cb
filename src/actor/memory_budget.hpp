// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

/// Keeps a flag that says whether the bytes in mailboxes, as far as threads have told, have reached a
/// bound.
///
/// Threads: add() may be called by any.
class memory_budget {
 public:
  /// `is_over` lies where every send looks, and must outlive this.
  memory_budget(std::size_t bound, atomic<bool>& is_over) noexcept
      : bound_(bound), is_over_(is_over) {}

  /// Nobody may call add() meanwhile.
  void start() noexcept {
    told_.store(0, relaxed);         // [budget] relaxed: nobody else is there yet
    is_over_.store(false, relaxed);  // [budget] likewise
  }

  /// So many more, or fewer.
  void add(std::int64_t bytes) noexcept {
    // [budget] seq_cst, all of these: who stores the flag looks at the total again, and then comes
    // after every addition whose author has seen the flag as it was before. With anything weaker the
    // last to store could be one who knew an older total, and the flag would stay.
    std::int64_t now = told_.fetch_add(bytes, seq_cst) + bytes;
    for (;;) {
      const bool over = now > 0 && static_cast<std::size_t>(now) >= bound_;
      if (is_over_.load(seq_cst) == over) return;
      is_over_.store(over, seq_cst);
      now = told_.load(seq_cst);
    }
  }

 private:
  const std::size_t bound_;
  atomic<bool>& is_over_;
  atomic<std::int64_t> told_{0};
};

}  // namespace troupe::detail
