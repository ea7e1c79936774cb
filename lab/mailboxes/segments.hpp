// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <troupe/base/assert.hpp>
#include <troupe/memory/depot.hpp>
#include <troupe/memory/magazine.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/per_thread.hpp>
#include <utility>

#include "lab/mailboxes/candidate.hpp"
#include "lab/mailboxes/record.hpp"

namespace troupe::lab {

/// Memory in which messages lie one after another. A free segment contains only unwritten marks,
/// except in its first units, which the depot may use.
struct alignas(64) segment {
  segment* next;
  std::uint32_t units;
  static constexpr std::size_t header_bytes = 32;

  unit* at(std::uint64_t index) noexcept {
    return reinterpret_cast<unit*>(reinterpret_cast<std::byte*>(this) + header_bytes) + index;
  }
};

/// Segments of two sizes, from a cache of each thread. A mailbox without a reader begins with a
/// small segment; a busy one continues with large ones.
struct segment_pool {
  static constexpr std::array<std::uint32_t, 2> bytes{256, 16 * 1'024};

  static constexpr std::uint32_t units(bool large) noexcept {
    return static_cast<std::uint32_t>((bytes[large] - segment::header_bytes) / sizeof(unit));
  }

  static segment* take(bool large) {
    auto* const one = static_cast<segment*>(cache().take(depots.data(), large, shape(large)));
    clear_marks(one->at(0), std::min(units(large), units_of_depot(large)));
    one->next = nullptr;
    one->units = units(large);
    return one;
  }

  /// The first `used` units may have any content.
  static void give(segment* one, std::uint64_t used) noexcept {
    const bool large = one->units == units(true);
    clear_marks(one->at(0), used);
    cache().give(depots.data(), large, shape(large), one);
  }

  static std::size_t bytes_from_system() noexcept { return depots[0].bytes() + depots[1].bytes(); }

 private:
  template <bool Large>
  static void construct(void* block) noexcept {
    clear_marks(static_cast<segment*>(block)->at(0), units(Large));
  }
  static constexpr detail::block_shape shape(bool large) noexcept {
    return large ? detail::block_shape{bytes[1], 0, 4} : detail::block_shape{bytes[0], 0, 64};
  }
  // A batch's header and its list, if both are in one block.
  static constexpr std::uint32_t units_of_depot(bool large) noexcept {
    const std::size_t written = sizeof(detail::batch_note) + shape(large).batch * sizeof(void*);
    return static_cast<std::uint32_t>(written / sizeof(unit) + 1);
  }
  using thread_cache = detail::thread_cache<detail::depot>;
  static thread_cache& cache() noexcept { return per_thread<thread_cache, segment_pool>::here(); }

  static std::array<detail::depot, 2> depots;
};

inline constinit std::array<detail::depot, 2> segment_pool::depots{
    detail::depot{shape(false), {64 * 1'024, &construct<false>}},
    detail::depot{shape(true), {256 * 1'024, &construct<true>}}};

/// Segments of copies. One word holds the segment that is being filled and its used part. A
/// compare-and-swap takes the next piece, the message is built there, and a mark publishes it to
/// the reader, which traverses the memory in order.
///
///   A sender that is preempted between the two leaves an unwritten mark. The reader stops there,
///   and may not rest, although other senders have filled the following slots.
///   A segment is reused when the reader has read all of it: up to its end mark, or up to the
///   position in the word when the mailbox comes to rest. A sender touches a segment only in a slot
///   that it has reserved, and the reader cannot have passed that slot.
///   Nothing throws in a reserved slot: see record.
///
/// Threads:   push(), push_all(): any; the rest: the reader.
/// Cost:      push: one compare-and-swap and a store; no block. drain: a load for each record. An
///            idle mailbox owns no segment. A limit on messages is implemented as a limit on large
///            segments, so it is not exact.
template <class M, class Pool = segment_pool>
class segments {
  using record_type = record<M, 1'024>;
  using stored = typename record_type::stored;

 public:
  using value_type = M;

  explicit segments(std::size_t limit = no_limit)
      : live_max_(limit == no_limit ? no_limit
                                    : std::max<std::size_t>(
                                          2, limit * record_type::units(1) / Pool::units(true))) {}
  segments(const segments&) = delete;
  segments& operator=(const segments&) = delete;
  ~segments() {
    close([](M&&) {});
  }

  pushed push(M&& message) {
    if constexpr (record_type::in_place) {
      const place here = reserve(record_type::units(1), true);
      if (here.at != nullptr) record_type::write(here.at, std::move(message));
      return here.result;
    } else {
      // A message that must not be moved back is accepted although the mailbox is full.
      constexpr bool may_refuse = std::is_nothrow_move_constructible_v<M>;
      stored mine(std::move(message));
      const place here = reserve(record_type::units(1), may_refuse);
      if (here.at != nullptr) {
        record_type::write(here.at, std::move(mine));
      } else if constexpr (may_refuse) {
        std::destroy_at(&message);
        std::construct_at(&message, std::move(mine.get()));
      }
      return here.result;
    }
  }

  /// The capacity of one record.
  static constexpr std::size_t batch_max =
      record_type::in_place ? std::max<std::size_t>(1, 8 * 1'024 / sizeof(M)) : 1;

  /// One reservation and one mark for all of them.
  pushed push_all(std::span<M> messages) {
    TROUPE_EXPECTS(messages.size() <= batch_max, "segments: too many messages for one record");
    if (messages.empty()) return pushed::to_busy;
    if constexpr (record_type::in_place) {
      const place here = reserve(record_type::units(messages.size()), true);
      if (here.at != nullptr) {
        stored* to = record_type::first(here.at);
        for (M& each : messages) std::construct_at(to++, std::move(each));
        here.at->mark.store(messages.size(), release);  // [mark]
      }
      return here.result;
    } else {
      return push(std::move(messages.front()));
    }
  }

  template <class Handle>
  std::size_t drain(Handle&& handle, std::size_t most = no_limit) {
    std::size_t handled = 0;
    while (handled < most && (left_ != 0 || next_record())) {
      // As many as possible before the reader's own state is checked again.
      std::size_t now = std::min(left_, most - handled);
      const struct keep {
        segments& box;
        stored*& one;
        std::size_t& now;
        std::size_t& handled;
        const std::size_t first = now;
        ~keep() {
          box.left_ -= first - now;
          box.current_ = one;
          handled += first - now;
        }
      } at_end{*this, current_, now, handled};
      while (now != 0) {
        --now;
        const destroy_after<stored> done(*current_++);
        handle(std::move(record_type::message(done.message)));
      }
    }
    return handled;
  }

  [[nodiscard]] bool rest() noexcept {
    if (left_ != 0) return false;
    if (reading_ == nullptr) {
      std::uint64_t none = special(empty);
      // [segments] release: transfers the reader's state to the sender that finds it idle.
      return word_.compare_exchange_strong(none, special(idle), release, relaxed);
    }
    // [mark] relaxed: only whether there is something to read.
    if (reading_->at(at_)->mark.load(relaxed) != unit::unwritten) return false;
    // After the next step there may be another reader.
    segment* const last = std::exchange(reading_, nullptr);
    const std::uint64_t used = at_;
    std::uint64_t all_read = word_of(last, used);
    if (word_.compare_exchange_strong(all_read, special(idle), release, relaxed)) {
      give_back(last, used);
      return true;
    }
    reading_ = last;
    return false;
  }

  template <class Handle>
  std::size_t close(Handle&& handle) {
    // [segments] acquire, release: as for a sender, and refused senders come after.
    const std::uint64_t before = word_.exchange(special(closed), acq_rel);
    std::size_t left = 0;
    if (segment* const last = segment_of(before); last != nullptr) {
      // Senders that have reserved a slot finish their messages.
      while (left += drain(handle), reading_ != last || at_ != used_of(before)) cpu_relax();
      give_back(std::exchange(reading_, nullptr), at_);
    }
    return left;
  }

 private:
  // The word: a segment's address, aligned to 64, and 20 bits for the number of used units. Bit 20
  // says that the segment is large.
  static constexpr std::uint64_t used_mask = (std::uint64_t{1} << 20) - 1;
  static constexpr std::uint64_t large_bit = std::uint64_t{1} << 20;
  // Its other states: closed → … ; empty, idle → segment (push); segment → segment (push); segment,
  // empty → idle (rest); any → closed.
  enum which : std::uint64_t { empty = 0, idle = 1, closed = 2 };

  static constexpr std::uint64_t special(which what) noexcept { return std::uint64_t{what} << 22; }
  static std::uint64_t word_of(segment* one, std::uint64_t used) noexcept {
    return reinterpret_cast<std::uintptr_t>(one) << 16 |
           (one->units == Pool::units(true) ? large_bit : 0) | used;
  }
  static segment* segment_of(std::uint64_t word) noexcept {
    const std::uint64_t address = word >> 22;
    return address > closed ? reinterpret_cast<segment*>(address << 6) : nullptr;
  }
  static std::uint64_t used_of(std::uint64_t word) noexcept { return word & used_mask; }
  // One unit is reserved for the end mark.
  static std::uint64_t room_of(std::uint64_t word) noexcept {
    return Pool::units((word & large_bit) != 0) - 1;
  }

  struct place {
    unit* at;  // null: refused
    pushed result;
  };

  place reserve(std::uint64_t units, bool may_refuse) {
    // [segments] acquire: the marks of a segment that another sender installed are unwritten; and
    // the sender that finds the mailbox idle sees the effects of its last reader.
    std::uint64_t word = word_.load(acquire);
    for (;;) {
      if (word == special(closed)) return {nullptr, pushed::closed};
      segment* const current = segment_of(word);
      if (current == nullptr || used_of(word) + units > room_of(word)) {
        return reserve_elsewhere(word, units, may_refuse);
      }
      // [segments] relaxed: continues the release sequence of the sender that installed the
      // segment.
      if (word_.compare_exchange_weak(word, word + units, acquire, acquire)) {
        return {current->at(used_of(word)), pushed::to_busy};
      }
    }
  }

  [[gnu::noinline]] place reserve_elsewhere(std::uint64_t word, std::uint64_t units,
                                            bool may_refuse) {
    segment* fresh = nullptr;
    for (;;) {
      segment* const current = segment_of(word);
      if (word == special(closed) ||
          (current != nullptr && used_of(word) + units <= room_of(word))) {
        if (fresh != nullptr) give_back(fresh, 0);
        return reserve(units, may_refuse);
      }
      if (fresh == nullptr) {
        // [segments-live] relaxed: only a number.
        const bool large = current != nullptr || units >= Pool::units(false);
        if (large && live_max_ != no_limit && live_.fetch_add(1, relaxed) >= live_max_ &&
            may_refuse) {
          live_.fetch_sub(1, relaxed);
          return {nullptr, pushed::full};
        }
        fresh = Pool::take(large);
      }
      // [segments] release: the marks of the new segment are unwritten.
      if (!word_.compare_exchange_weak(word, word_of(fresh, units), acq_rel, acquire)) continue;
      if (current != nullptr) {
        current->next = fresh;
        current->at(used_of(word))->mark.store(unit::end, release);  // [mark] the link is written
        return {fresh->at(0), pushed::to_busy};
      }
      // [segments-first] release: the reader finds it unwritten.
      first_.store(fresh, release);
      return {fresh->at(0), word == special(idle) ? pushed::to_idle : pushed::to_busy};
    }
  }

  bool next_record() noexcept {
    for (;;) {
      if (reading_ == nullptr) {
        reading_ = first_.load(acquire);  // [segments-first]
        if (reading_ == nullptr) return false;
        first_.store(nullptr, relaxed);  // [segments-first] relaxed: rest() comes before the next
        at_ = 0;
      }
      // [mark] acquire: the messages are written.
      const std::uint64_t mark = reading_->at(at_)->mark.load(acquire);
      if (mark == unit::unwritten) return false;
      if (mark != unit::end) {
        left_ = mark;
        current_ = record_type::first(reading_->at(at_));
        at_ += record_type::units(mark);
        return true;
      }
      segment* const read = std::exchange(reading_, reading_->next);
      give_back(read, std::exchange(at_, 0) + 1);
    }
  }

  void give_back(segment* one, std::uint64_t used) noexcept {
    // [segments-live] relaxed: only a number.
    if (live_max_ != no_limit && one->units == Pool::units(true)) {
      live_.fetch_sub(1, relaxed);
    }
    Pool::give(one, used);
  }

  alignas(64) atomic<std::uint64_t> word_{special(empty)};
  atomic<segment*> first_{nullptr};  // of those that the reader has not seen, after a rest
  atomic<std::size_t> live_{0};      // large segments, if there is a limit
  const std::size_t live_max_;
  alignas(64) segment* reading_ = nullptr;  // all from here on is the reader's
  std::uint64_t at_ = 0;                    // the next mark
  stored* current_ = nullptr;               // the next message of the record before it
  std::size_t left_ = 0;                    // messages of that record
};

}  // namespace troupe::lab
