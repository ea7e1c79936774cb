// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <troupe/message/envelope.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

/// An actor's messages in the order in which they were pushed, and whether anybody is reading.
///
/// Two stacks make the queue: senders push onto a shared one, the reader takes it whole and
/// reverses it into a list of its own. (Treiber's stack, whose pop is the hard part, is only ever
/// emptied at once, so there is no ABA; the arrangement is acto's, «Lock-free queue in MPSC»,
/// 2009.)
///
/// Threads:   push() from anywhere; the rest from the one reader: who was told `to_idle` by push(),
///            or who opened the mailbox busy, until rest() returns true or close() was called.
/// Invariant: between two reports of `to_idle` lies exactly one rest() that returned true.
/// Cost:      push: one compare-and-swap; pop: one exchange per batch. 24 bytes; messages bring
///            their own memory.
class mailbox {
 public:
  enum class pushed : std::uint8_t { to_busy, to_idle, closed };

  mailbox() = default;
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;

  /// Opens a closed mailbox; the caller is its reader.
  void open_busy() noexcept;

  /// `to_idle`: nobody reads, the caller must see to it that somebody does. `closed`: not taken.
  pushed push(envelope& message) noexcept;

  /// The next message, or nullptr if there is none at the moment.
  [[nodiscard]] envelope* pop() noexcept;

  /// Stops being the reader. False if something has arrived: go on reading.
  [[nodiscard]] bool rest() noexcept;

  /// Takes no more messages; returns what is left as a list in order.
  [[nodiscard]] envelope* close() noexcept;

  /// Moves what has been pushed to the reader's list, and returns how long that is now.
  std::size_t collect() noexcept;

  /// True if there is nothing to pop at the moment; an answer to be checked with rest().
  [[nodiscard]] bool is_empty() const noexcept {
    return ready_ == nullptr && head_.load(relaxed) == nullptr;  // [mailbox] relaxed: only a look
  }

  /// How many messages are on the reader's list.
  [[nodiscard]] std::uint32_t ready() const noexcept { return ready_count_; }

 private:
  // Values of head_ that are no message. The owner's transitions:
  //   closed → empty (open_busy)   anything → empty (refill)   empty → idle (rest)   anything →
  //   closed
  // The senders': idle → message, empty → message, message → message.
  static envelope* idle() noexcept { return reinterpret_cast<envelope*>(std::uintptr_t{1}); }
  static envelope* closed() noexcept { return reinterpret_cast<envelope*>(std::uintptr_t{2}); }
  static bool is_message(const envelope* head) noexcept {
    return reinterpret_cast<std::uintptr_t>(head) > 2;
  }

  bool refill() noexcept;
  void append_reversed(envelope* newest) noexcept;

  atomic<envelope*> head_{closed()};  // the newest pushed message, nullptr, idle() or closed()
  envelope* ready_ = nullptr;         // the reader's list, oldest first
  std::uint32_t ready_count_ = 0;
};

static_assert(sizeof(mailbox) == 24);

inline mailbox::pushed mailbox::push(envelope& message) noexcept {
  // [mailbox] acquire: whoever finds the mailbox idle becomes responsible for its reader, and must
  // see everything that the last one did before rest() let go.
  // [mailbox-close] acquire: who finds it closed comes after all that the reader did before.
  envelope* head = head_.load(acquire);
  do {
    if (head == closed()) return pushed::closed;
    message.next = is_message(head) ? head : nullptr;
    // [mailbox] release: the message's content is visible to the reader that takes it in refill().
  } while (!head_.compare_exchange_weak(head, &message, acq_rel, acquire));
  return head == idle() ? pushed::to_idle : pushed::to_busy;
}

inline envelope* mailbox::pop() noexcept {
  if (ready_ == nullptr && !refill()) return nullptr;
  envelope* const message = ready_;
  ready_ = message->next;
  --ready_count_;
  return message;
}

inline bool mailbox::refill() noexcept {
  // A look before the exchange: finding nothing is common and should not take the line.
  if (head_.load(relaxed) == nullptr) return false;
  // [mailbox] acquire: pairs with the release in push(); every message of the batch was published
  // by a compare-and-swap in the release sequence that this reads from.
  append_reversed(head_.exchange(nullptr, acquire));
  return true;
}

inline bool mailbox::rest() noexcept {
  if (ready_ != nullptr) return false;
  envelope* head = nullptr;
  // [mailbox] release: hands the actor's state to the sender that finds it idle and to the reader
  // that this sender then appoints.
  return head_.compare_exchange_strong(head, idle(), release, relaxed);
}

}  // namespace troupe::detail
