// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <troupe/mailbox/limits.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/watched.hpp>

namespace troupe::detail {

/// What senders change of a mailbox: the newest message, and how much there is. It may be constructed
/// long before the rest of its mailbox and outlive it, closed, so that any thread may look at any time
/// whether somebody reads.
class mailbox_word {
 public:
  /// From anywhere: 0 if nobody reads; else 1 and the units that are not counted off as handled.
  [[nodiscard]] std::uint32_t load() const noexcept {
    const word head = head_.load(relaxed);  // [mailbox] relaxed: only a look
    return is_idle(head) ? 0 : units_of(head) + 1;
  }

  /// Becomes the reader if nobody is, as if it had been told `to_idle` by push(), but with no message.
  [[nodiscard]] bool try_begin_reading() noexcept {
    word head = head_.load(relaxed);  // [mailbox] relaxed: checked by the exchange
    while (is_idle(head)) {
      // [mailbox] acquire: as in push(), for who finds it idle.
      if (head_.compare_exchange_weak(head, head & (units_mask | room_wanted), acquire, relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// From anywhere: true if there is something to take at the moment.
  [[nodiscard]] bool has_pushed() const noexcept {
    return has_message(head_.load(relaxed));  // [mailbox] relaxed: only a look
  }

  /// True if it takes nothing more; if not, it may be so a moment later.
  [[nodiscard]] bool is_closed() const noexcept {
    return head_.load(acquire) == closed;  // [mailbox-close] acquire: as in push()
  }

 private:
  friend class mailbox;

  // The word:   63…20 address of the newest pushed message, without its low 4 bits
  //             19    somebody wants room        18…0 units that are not counted as handled
  //
  // Addresses that are no message: 0 somebody reads and has seen all; 1 idle; 2 closed. With 1 there
  // are units, and may be the mark, only of what the last reader keeps.
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

/// What only the reader of a mailbox touches: the messages that he has taken.
class mailbox_list {
 public:
  [[nodiscard]] bool has_ready() const noexcept { return ready_ != nullptr; }
  /// Just one, as when nobody was reading when it was pushed.
  [[nodiscard]] bool has_one_ready() const noexcept {
    return ready_ != nullptr && first_ready().next == nullptr;
  }
  /// What pop_ready() would return.
  [[nodiscard]] const envelope& first_ready() const noexcept { return *ready_; }

 private:
  friend class mailbox;

  watched<envelope*> ready_ = nullptr;  // the reader's list, oldest first
  watched<std::uint32_t> handled_ = 0;  // units done with and still in the word
  // Whoever embeds a list may lay something of the reader's in here.
};

static_assert(sizeof(mailbox_list) == 16);

/// An actor's messages in the order in which they were pushed, how much they are, and whether anybody
/// is reading.
///
/// Two stacks make the queue: senders push onto a shared one, the reader takes it whole and
/// reverses it into a list of its own. (Treiber's stack, whose pop is the hard part, is only ever
/// emptied at once, so there is no ABA; the arrangement is acto's, «Lock-free queue in MPSC»,
/// 2009.) The newest message and the units that are not yet handled share one word, so that a limit
/// is kept exactly and costs no access of its own. A message that weighs nothing is never refused. Who
/// finds nobody reading puts his message onto the reader's list himself: then nobody has to take it.
///
/// Threads:   push(), want_room() and try_begin_reading() from anywhere; the rest from the one reader: who
///            was told `to_idle` by push(), or has begun to read, or who opened the mailbox busy, until
///            rest() returns true or close() was called.
/// Invariant: between two readers lies exactly one rest() that returned true. The units
///            of what was pushed and not counted as handled never exceed a sender's `most`. After a
///            want_room() that returned true the reader is told, once, that there is room.
/// Cost:      push: one compare-and-swap; pop: one in a batch, none for a message that found nobody
///            reading. 8 bytes that senders touch, and 12 that only the reader does; this is the pair of
///            them, made where it is used. Messages bring their own memory, aligned to 16, at an address of
///            at most 48 bits.
class mailbox {
 public:
  enum class pushed : std::uint8_t { to_busy, to_idle, closed, full };

  mailbox(mailbox_word& shared, mailbox_list& list) noexcept : shared_(shared), list_(list) {}

  /// Opens a closed mailbox; the caller is its reader.
  void open_busy() noexcept;

  /// `to_idle`: nobody reads, the caller must see to it that somebody does. `closed`, `full`: not
  /// taken; full if there would be more than `most` units, unless this is none.
  pushed push(envelope& message, std::size_t units = 0,
              std::size_t most = mailbox_limits::units_max) noexcept;

  [[nodiscard]] bool try_begin_reading() noexcept { return shared_.try_begin_reading(); }

  /// The reader's that has begun so: this is the message, which weighs nothing.
  void begin_with(envelope& message) noexcept {
    message.next = nullptr;
    list_.ready_ = &message;
  }

  /// Asks the reader to say when there are at most `low` units; false if there are. One that rests, and
  /// has kept more, says so later. One caller at a time.
  [[nodiscard]] bool want_room(std::uint32_t low) noexcept;

  /// What refill() has found.
  struct refilled {
    std::uint32_t messages = 0;
    bool room = false;  // whoever wanted room is to be told that there is some
    friend bool operator==(const refilled&, const refilled&) = default;
  };

  /// Moves what has been pushed to the reader's list, and counts off what was handled.
  refilled refill(std::uint32_t low) noexcept {
    // A look before the exchange: finding nothing is common and should not take the line.
    const word head = shared_.head_.load(relaxed);
    return head <= units_mask ? refilled{} : refill_from(head, low);
  }

  /// For the reader: at the moment nothing has been pushed, and nobody waits for room.
  [[nodiscard]] bool is_quiet() const noexcept {
    return shared_.head_.load(relaxed) <= units_mask;  // [mailbox] relaxed: only a look
  }

  /// The next message of the reader's list, which must not be empty.
  [[nodiscard]] envelope& pop_ready() noexcept {
    envelope* const message = list_.ready_;
    list_.ready_ = message->next;
    return *message;
  }

  [[nodiscard]] const envelope& first_ready() const noexcept { return list_.first_ready(); }

  /// Popped messages, not counted as handled, are to be popped again, before all others.
  void put_in_front(envelope& first, envelope& last) noexcept {
    last.next = list_.ready_;
    list_.ready_ = &first;
  }

  /// Gives the reader another list, and the caller the one that he had.
  [[nodiscard]] envelope* exchange_ready(envelope* first) noexcept {
    return std::exchange(list_.ready_, first);
  }

  /// The next message, or nullptr if there is none at the moment. For mailboxes without limits.
  [[nodiscard]] envelope* pop() noexcept {
    if (list_.ready_ == nullptr && refill(0).messages == 0) return nullptr;
    return &pop_ready();
  }

  /// A popped message of so many units is done with. True: time to make_room().
  [[nodiscard]] bool handled(std::size_t units, std::uint32_t quantum) noexcept {
    list_.handled_ = list_.handled_ + static_cast<std::uint32_t>(units);
    return list_.handled_ >= quantum;
  }

  /// Tells the senders what has been handled. True: whoever wanted room is to be told.
  [[nodiscard]] bool make_room(std::uint32_t low) noexcept;

  /// Stops being the reader. False if something has arrived, or there is room for who wants it: go on
  /// reading. `kept`: the units of popped messages that are not handled yet; they stay counted.
  [[nodiscard]] bool rest(std::uint32_t kept = 0, std::uint32_t low = 0) noexcept;

  /// What close() leaves behind.
  struct remains {
    envelope* messages;  // a list in order
    bool room_wanted;
  };
  /// Takes no more messages.
  [[nodiscard]] remains close() noexcept;

  /// The same when nobody can push any more, and whoever has is known to come before: no
  /// read-modify-write.
  [[nodiscard]] remains close_alone() noexcept {
    const word last = shared_.head_.load(relaxed);  // [mailbox] relaxed: it comes after every push
    shared_.head_.store(closed, relaxed);  // [mailbox-close] relaxed: who looks finds nobody idle
    return remains_of(last);
  }

  /// True if there is nothing to pop at the moment; an answer to be checked with rest().
  [[nodiscard]] bool is_empty() const noexcept {
    return !list_.has_ready() && !shared_.has_pushed();
  }

  [[nodiscard]] bool has_ready() const noexcept { return list_.has_ready(); }
  [[nodiscard]] bool has_one_ready() const noexcept { return list_.has_one_ready(); }

  [[nodiscard]] bool is_closed() const noexcept { return shared_.is_closed(); }

  /// Units pushed and not handled; for the reader.
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

  // A message whose weight has changed on the way must not bring the word into disorder.
  [[nodiscard]] std::uint32_t left_of(word head) const noexcept {
    const std::uint32_t handled = list_.handled_;
    return units_of(head) > handled ? units_of(head) - handled : 0;
  }
  [[nodiscard]] remains remains_of(word last) noexcept {
    if (has_message(last)) (void)append_reversed(message_of(last));
    list_.handled_ = 0;
    return {std::exchange(list_.ready_, nullptr), (last & room_wanted) != 0};
  }
  refilled refill_from(word head, std::uint32_t low) noexcept;
  // Of a copy, so that the pair need not be in memory.
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

/// A mailbox with nothing around it.
class whole_mailbox : mailbox_parts, public mailbox {
 public:
  whole_mailbox() noexcept : mailbox(mailbox_parts::word, mailbox_parts::list) {}
  whole_mailbox(const whole_mailbox&) = delete;
  whole_mailbox& operator=(const whole_mailbox&) = delete;
};

inline mailbox::pushed mailbox::push(envelope& message, std::size_t units,
                                     std::size_t most) noexcept {
  const word address = mailbox_word::address_of(message);
  // [mailbox] acquire: whoever finds the mailbox idle becomes responsible for its reader, and must
  // see everything that the last one did before rest() let go.
  // [mailbox-close] acquire: who finds it closed comes after all that the reader did before.
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
  // Until the caller has appointed a reader, he is it.
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
  // [mailbox] relaxed: checked by the exchange. Without a message, what the word counts has been
  // handled or is kept.
  word head = shared_.head_.load(relaxed);
  word left = kept != 0 ? std::min(kept, left_of(head)) : 0;
  if (head > units_mask) [[unlikely]] {
    if (has_message(head) || left <= low) return false;
    left |= room_wanted;  // until what is kept has been handled
  }
  // Before the exchange: after it somebody else may be the reader.
  const std::uint32_t handled = std::exchange(list_.handled_, 0);
  // [mailbox] release: hands the actor's state to the sender that finds it idle and to the reader
  // that this sender then appoints.
  if (shared_.head_.compare_exchange_strong(head, idle | left, release, relaxed)) return true;
  list_.handled_ = handled;
  return false;
}

}  // namespace troupe::detail
