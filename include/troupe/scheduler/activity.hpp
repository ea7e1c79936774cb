// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/base/cache_line.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

/// A count that one thread keeps and any thread may look at.
///
/// Cost: a load and a store of the owner's own cache line; no read-modify-write.
class own_counter {
 public:
  void add(std::uint64_t n) noexcept {
    // [counter] relaxed: figures for people; nothing is concluded from one about another.
    value_.store(value_.load(relaxed) + n, relaxed);
  }
  void raise_to(std::uint64_t n) noexcept {
    if (n > value_.load(relaxed)) value_.store(n, relaxed);  // [counter]
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(relaxed); }  // [counter]

 private:
  atomic<std::uint64_t> value_{0};
};

/// What one thread that gives turns has done.
///
/// Threads: written by its thread, read by any.
struct alignas(cache_line_bytes) activity {
  own_counter turns;
  own_counter accepted;       // messages put into a mailbox by turns on this thread
  own_counter handled;        // messages taken out again, handled or not
  own_counter depth_highest;  // the longest queue that a turn on this thread found
};

}  // namespace troupe::detail
