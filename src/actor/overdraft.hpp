// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <troupe/message/envelope.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

class control_block;

/// The bytes that the mailboxes of one system have taken beyond their limits, because a sender with
/// backpressure is suspended only after its handler.
///
/// Threads: any. A mailbox's share is never less than what it holds beyond its limit. It may be more:
///          what the actor has handled is subtracted as often as it is reported to the memory budget,
///          and the rest when the mailbox is half empty.
class overdraft {
 public:
  /// No thread may charge meanwhile.
  void start(std::size_t limit) noexcept { limit_ = limit; }

  /// False if that would exceed the limit; then nothing is charged.
  [[nodiscard]] bool charge(std::size_t bytes) noexcept {
    // [budget] relaxed, all of these: they publish no other data.
    std::size_t used = used_.load(relaxed);
    do {
      if (bytes > limit_ || used > limit_ - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, relaxed, relaxed));
    return true;
  }
  void release(std::size_t bytes) noexcept {
    if (bytes != 0) used_.fetch_sub(bytes, relaxed);  // [budget]
  }
  [[nodiscard]] bool has_room_for(std::size_t bytes) const noexcept {
    return bytes <= limit_ && used() <= limit_ - bytes;
  }
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(relaxed); }  // [budget]
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }

 private:
  std::size_t limit_ = 0;
  atomic<std::size_t> used_{0};
};

/// A message that arrived when its mailbox held more than it can count. It is in the mailbox like
/// any other but weighs nothing there; see side_block::uncounted.
struct uncounted_message : envelope {
  envelope* inner = nullptr;
  std::size_t bytes = 0;  // of the inner one
};

/// Wraps the message. Throws std::bad_alloc.
[[nodiscard]] uncounted_message& make_uncounted(envelope& message, std::size_t bytes);
[[nodiscard]] bool is_uncounted(const envelope& message) noexcept;
/// Takes the message out of the envelope and frees the envelope. Afterwards the message counts only
/// as its own record says.
[[nodiscard]] envelope& take_out_uncounted(control_block& of, envelope& message) noexcept;

}  // namespace troupe::detail
