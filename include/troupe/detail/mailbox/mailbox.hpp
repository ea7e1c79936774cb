// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <troupe/detail/mailbox/limits.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/watched.hpp>

namespace troupe::detail {

/// The word of a mailbox that senders modify: the newest message, and the number of units. It may
/// be constructed long before the rest of its mailbox and outlive it, closed, so that any thread
/// may check at any time whether the mailbox has a reader.
class mailbox_word {
 public:
  /// From any thread: returns 0 if there is no reader; otherwise 1 plus the units that are not yet
  /// counted as handled.
  [[nodiscard]] std::uint32_t load() const noexcept {
    const word head = head_.load(relaxed);  // [mailbox] relaxed: only a look
    return is_idle(head) ? 0 : units_of(head) + 1;
  }

  /// Becomes the reader if the mailbox has none, as after `to_idle` from push(), but without a
  /// message.
  [[nodiscard]] bool try_begin_reading() noexcept {
    word head = head_.load(relaxed);  // [mailbox] relaxed: checked by the exchange
    while (is_idle(head)) {
      // [mailbox] acquire: as in push(), for a caller that finds it idle.
      if (head_.compare_exchange_weak(head, head & (units_mask | room_wanted), acquire, relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// From any thread: returns true if a message can be taken at the moment.
  [[nodiscard]] bool has_pushed() const noexcept {
    return has_message(head_.load(relaxed));  // [mailbox] relaxed: only a look
  }

  /// Returns true if it accepts no more messages; false may be outdated a moment later.
  [[nodiscard]] bool is_closed() const noexcept {
    return head_.load(acquire) == closed;  // [mailbox-close] acquire: as in push()
  }

 private:
  friend class mailbox;

  // The word:   63…20 address of the newest pushed message, without its low 4 bits
  //             19    a sender wants room        18…0 units that are not counted as handled
  //
  // Addresses that are not messages: 0: there is a reader, and it has seen all messages; 1: idle;
  // 2: closed. With 1, the units, and possibly the mark, belong only to messages that the last
  // reader has kept.
  using word = std::uint64_t;
  static constexpr word units_mask = mailbox_limits::units_max;
  static constexpr word room_wanted = units_mask + 1;
  static constexpr word idle = room_wanted << 1;
  static constexpr word closed = idle << 1;

  static constexpr std::uint32_t units_of(word w) noexcept {
    return static_cast<std::uint32_t>(w & units_mask);
  }
  static constexpr bool has_message(word w) noexcept { return w >= closed + idle; }
  static constexpr bool is_idle(word w) noexcept {
    return (w & ~(units_mask | room_wanted)) == idle;
  }
  static envelope* message_of(word w) noexcept {
    return reinterpret_cast<envelope*>((w >> 20) << 4);
  }
  static word address_of(envelope& message) noexcept {
    return static_cast<word>(reinterpret_cast<std::uintptr_t>(&message)) << 16;
  }

  atomic<word> head_{closed};
};

static_assert(sizeof(mailbox_word) == 8);

/// The part of a mailbox that only its reader accesses: the messages that it has taken.
class mailbox_list {
 public:
  [[nodiscard]] bool has_ready() const noexcept { return ready_ != nullptr; }
  /// Returns true if there is just one message, as after a push to a mailbox without a reader.
  [[nodiscard]] bool has_one_ready() const noexcept {
    return ready_ != nullptr && first_ready().next == nullptr;
  }
  /// Returns the message that pop_ready() would return.
  [[nodiscard]] const envelope& first_ready() const noexcept { return *ready_; }

 private:
  friend class mailbox;

  watched<envelope*> ready_ = nullptr;  // the reader's list, oldest first
  watched<std::uint32_t> handled_ = 0;  // units done with and still in the word
  // A class that embeds a list may place data of the reader in the padding here.
};

static_assert(sizeof(mailbox_list) == 16);

/// An actor's messages in the order in which they were pushed, their size, and whether there is a
/// reader.
///
/// The queue consists of two stacks: senders push onto a shared one; the reader takes it whole and
/// reverses it into a list of its own. (Treiber's stack, whose pop is the hard part, is only ever
/// emptied at once, so there is no ABA; the arrangement is acto's, "Lock-free queue in MPSC",
/// 2009.) The newest message and the units that are not yet handled share one word, so that a limit
/// is exact and needs no memory access of its own. A message that weighs nothing is never refused.
/// A sender that finds no reader puts its message directly onto the reader's list, so that it need
/// not be taken from the shared stack.
///
/// Threads:   push(), want_room() and try_begin_reading() from any thread; the rest only from the
///            one reader. The reader is the thread that push() has told `to_idle`, that has begun
///            to read, or that opened the mailbox busy, until rest() returns true or close() was
///            called.
/// Invariant: between two readers there is exactly one rest() that returned true. The units of
///            messages that were pushed and not counted as handled never exceed a sender's `most`.
///            After a want_room() that returned true the reader is told, once, that there is room.
/// Cost:      push: one compare-and-swap; pop: one for a batch, none for a message that found no
///            reader. 8 bytes that senders modify, and 12 that only the reader accesses; this class
///            is the pair of them, made where it is used. Messages bring their own memory, aligned
///            to 16, at an address of at most 48 bits.
class mailbox {
 public:
  enum class pushed : std::uint8_t { to_busy, to_idle, closed, full };

  mailbox(mailbox_word& shared, mailbox_list& list) noexcept : shared_(shared), list_(list) {}

  /// Opens a closed mailbox; the caller is its reader.
  void open_busy() noexcept;

  /// Pushes a message. `to_idle`: there is no reader; the caller must provide one. `closed`,
  /// `full`: the message is not accepted; full if there would be more than `most` units, unless it
  /// has 0 units.
  pushed push(envelope& message, std::size_t units = 0,
              std::size_t most = mailbox_limits::units_max) noexcept;

  [[nodiscard]] bool try_begin_reading() noexcept { return shared_.try_begin_reading(); }

  /// For a reader that has begun with try_begin_reading(): sets the message, which weighs nothing.
  void begin_with(envelope& message) noexcept {
    message.next = nullptr;
    list_.ready_ = &message;
  }

  /// Asks the reader to report when there are at most `low` units; returns false if that is already
  /// so. A reader that rests, and has kept more units, reports it later. Only one caller at a time.
  [[nodiscard]] bool want_room(std::uint32_t low) noexcept;

  /// The result of refill().
  struct refilled {
    std::uint32_t messages = 0;
    bool room = false;  // the senders that wanted room must be told that there is some
    friend bool operator==(const refilled&, const refilled&) = default;
  };

  /// Moves pushed messages to the reader's list, and subtracts the handled units.
  refilled refill(std::uint32_t low) noexcept {
    // A load before the exchange: finding nothing is common and should not take ownership of the
    // cache line.
    const word head = shared_.head_.load(relaxed);
    return head <= units_mask ? refilled{} : refill_from(head, low);
  }

  /// For the reader: returns true if at the moment no message is pushed and no sender waits for
  /// room.
  [[nodiscard]] bool is_quiet() const noexcept {
    return shared_.head_.load(relaxed) <= units_mask;  // [mailbox] relaxed: only a look
  }

  /// Returns the next message of the reader's list, which must not be empty.
  [[nodiscard]] envelope& pop_ready() noexcept {
    envelope* const message = list_.ready_;
    list_.ready_ = message->next;
    return *message;
  }

  [[nodiscard]] const envelope& first_ready() const noexcept { return list_.first_ready(); }

  /// Puts back popped messages that were not counted as handled, before all others.
  void put_in_front(envelope& first, envelope& last) noexcept {
    last.next = list_.ready_;
    list_.ready_ = &first;
  }

  /// Gives the reader another list, and returns the previous one.
  [[nodiscard]] envelope* exchange_ready(envelope* first) noexcept {
    return std::exchange(list_.ready_, first);
  }

  /// Returns the next message, or nullptr if the mailbox is empty at the moment. For mailboxes
  /// without limits.
  [[nodiscard]] envelope* pop() noexcept {
    if (list_.ready_ == nullptr && refill(0).messages == 0) return nullptr;
    return &pop_ready();
  }

  /// Counts a popped message of `units` units as handled. Returns true if make_room() should be
  /// called.
  [[nodiscard]] bool handled(std::size_t units, std::uint32_t quantum) noexcept {
    list_.handled_ = list_.handled_ + static_cast<std::uint32_t>(units);
    return list_.handled_ >= quantum;
  }

  /// Publishes the handled units to senders. Returns true if the senders that wanted room must be
  /// told.
  [[nodiscard]] bool make_room(std::uint32_t low) noexcept;

  /// Stops being the reader. Returns false if a message has arrived, or if there is room for a
  /// waiting sender: the caller must continue to read. `kept`: the units of popped messages that
  /// are not handled yet; they stay counted.
  [[nodiscard]] bool rest(std::uint32_t kept = 0, std::uint32_t low = 0) noexcept;

  /// The messages and flags that close() leaves.
  struct remains {
    envelope* messages;  // a list in order
    bool room_wanted;
    std::int32_t
        units;  // total weight of these messages, unless the weight of one has changed in transit
  };
  /// Closes the mailbox: it accepts no more messages.
  [[nodiscard]] remains close() noexcept;

  /// As close(), if no thread can push any more, and all earlier pushes are known to happen before:
  /// no read-modify-write.
  [[nodiscard]] remains close_alone() noexcept {
    const word last = shared_.head_.load(relaxed);  // [mailbox] relaxed: it comes after every push
    // [mailbox-close] relaxed: any thread that looks finds it not idle
    shared_.head_.store(closed, relaxed);
    return remains_of(last);
  }

  /// Returns true if no message can be popped at the moment; to be confirmed with rest().
  [[nodiscard]] bool is_empty() const noexcept {
    return !list_.has_ready() && !shared_.has_pushed();
  }

  [[nodiscard]] bool has_ready() const noexcept { return list_.has_ready(); }
  [[nodiscard]] bool has_one_ready() const noexcept { return list_.has_one_ready(); }

  [[nodiscard]] bool is_closed() const noexcept { return shared_.is_closed(); }

  /// Returns the units that were pushed and not handled; for the reader.
  [[nodiscard]] std::uint32_t units() const noexcept {
    return left_of(shared_.head_.load(relaxed));  // [mailbox] relaxed: only a look
  }

 private:
  using word = mailbox_word::word;
  static constexpr word units_mask = mailbox_word::units_mask;
  static constexpr word room_wanted = mailbox_word::room_wanted;
  static constexpr word idle = mailbox_word::idle;
  static constexpr word closed = mailbox_word::closed;
  static constexpr std::uint32_t units_of(word w) noexcept { return mailbox_word::units_of(w); }
  static constexpr bool has_message(word w) noexcept { return mailbox_word::has_message(w); }
  static constexpr bool is_idle(word w) noexcept { return mailbox_word::is_idle(w); }
  static envelope* message_of(word w) noexcept { return mailbox_word::message_of(w); }

  // A message whose weight has changed in transit must not corrupt the word.
  [[nodiscard]] std::uint32_t left_of(word head) const noexcept {
    const std::uint32_t handled = list_.handled_;
    return units_of(head) > handled ? units_of(head) - handled : 0;
  }
  [[nodiscard]] remains remains_of(word last) noexcept {
    if (has_message(last)) (void)append_reversed(message_of(last));
    const std::uint32_t units = (last == closed ? 0 : units_of(last)) - list_.handled_;
    list_.handled_ = 0;
    return {std::exchange(list_.ready_, nullptr), (last & room_wanted) != 0,
            static_cast<std::int32_t>(units)};
  }
  refilled refill_from(word head, std::uint32_t low) noexcept;
  // Takes a copy, so that the pair need not be in memory.
  static refilled refill_with_room(mailbox of, word head) noexcept;
  std::uint32_t append_reversed(envelope* newest) noexcept {
    if (newest->next != nullptr || list_.ready_ != nullptr) {
      return append_all_reversed(list_, newest);
    }
    list_.ready_ = newest;
    return 1;
  }
  static std::uint32_t append_all_reversed(mailbox_list& list, envelope* newest) noexcept;

  mailbox_word& shared_;
  mailbox_list& list_;
};

struct mailbox_parts {
  mailbox_word word;
  mailbox_list list;
};

/// A mailbox with its own storage.
class whole_mailbox : mailbox_parts, public mailbox {
 public:
  whole_mailbox() noexcept : mailbox(mailbox_parts::word, mailbox_parts::list) {}
  whole_mailbox(const whole_mailbox&) = delete;
  whole_mailbox& operator=(const whole_mailbox&) = delete;
};

inline mailbox::pushed mailbox::push(envelope& message, std::size_t units,
                                     std::size_t most) noexcept {
  const word address = mailbox_word::address_of(message);
  // [mailbox] acquire: a thread that finds the mailbox idle becomes responsible for its reader, and
  // must see everything that the last reader did before rest() released the mailbox.
  // [mailbox-close] acquire: a thread that finds it closed comes after everything that the reader
  // did before.
  word head = shared_.head_.load(acquire);
  word next;
  do {
    if (head == closed) return pushed::closed;
    if (units != 0 && (units > most || units_of(head) > most - units)) return pushed::full;
    next = (head & (units_mask | room_wanted)) + units;
    if (!is_idle(head)) {
      message.next = has_message(head) ? message_of(head) : nullptr;
      next |= address;
    }
    // [mailbox] release: the message's content is visible to the reader that takes it in refill().
  } while (!shared_.head_.compare_exchange_weak(head, next, acq_rel, acquire));
  if (!is_idle(head)) return pushed::to_busy;
  // The caller is the reader until it has appointed one.
  begin_with(message);
  return pushed::to_idle;
}

inline mailbox::refilled mailbox::refill_from(word head, std::uint32_t low) noexcept {
  word left;
  do {
    left = left_of(head);
    if ((head & room_wanted) != 0) [[unlikely]] {
      if (left <= low) return refill_with_room(*this, head);
      if (!has_message(head)) return {};
      left |= room_wanted;
    }
    // [mailbox] acquire: pairs with the release in push(); every message of the batch was published
    // by a compare-and-swap in the release sequence that this reads from.
  } while (!shared_.head_.compare_exchange_weak(head, left, acquire, relaxed));
  list_.handled_ = 0;
  return {append_reversed(message_of(head)), false};
}

inline bool mailbox::rest(std::uint32_t kept, std::uint32_t low) noexcept {
  if (list_.ready_ != nullptr) return false;
  // [mailbox] relaxed: checked by the exchange. Without a message, the units in the word have been
  // handled or are kept.
  word head = shared_.head_.load(relaxed);
  word left = kept != 0 ? std::min(kept, left_of(head)) : 0;
  if (head > units_mask) [[unlikely]] {
    if (has_message(head) || left <= low) return false;
    left |= room_wanted;  // until the kept messages have been handled
  }
  // Before the exchange: after it another thread may be the reader.
  const std::uint32_t handled = std::exchange(list_.handled_, 0);
  // [mailbox] release: passes the actor's state to the sender that finds it idle and to the reader
  // that this sender then appoints.
  if (shared_.head_.compare_exchange_strong(head, idle | left, release, relaxed)) return true;
  list_.handled_ = handled;
  return false;
}

}  // namespace troupe::detail
