// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <troupe/base/assert.hpp>
#include <troupe/sync/atomic.hpp>
#include <utility>

#include "lab/mailboxes/candidate.hpp"
#include "lab/mailboxes/record.hpp"

namespace troupe::lab {

/// A block of fixed size that belongs to the receiver, filled and read in a circle: the limit is
/// the block. A compare-and-swap moves the push end past the next piece, the message is built
/// there, and a mark publishes it to the reader. A record that does not fit before the block's end
/// begins at its start.
///
/// As in segments, a preempted sender stops the reader.
///
/// Threads:   push(), push_all(): any; the rest: the reader.
/// Invariant: from the push end round to the pop end, all marks are unwritten.
/// Cost:      push: one compare-and-swap and a store. drain: a load for each record, a store for
///            each sixteenth of the block. The block exists as long as the mailbox, idle or not,
///            and all of it is touched at the start.
template <class M, std::size_t Bytes = 300 * 1'024>
class arena {
  using record_type = record<M, (Bytes < 8 * 1'024 ? Bytes / 8 : 1'024)>;
  using stored = typename record_type::stored;
  static constexpr std::uint64_t size = Bytes / sizeof(unit);

 public:
  using value_type = M;

  explicit arena(std::size_t = no_limit) : units_(std::make_unique<unit[]>(size)) {}
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() {
    close([](M&&) {});
  }

  pushed push(M&& message) {
    if constexpr (record_type::in_place) {
      const place here = reserve(record_type::units(1));
      if (here.at != nullptr) record_type::write(here.at, std::move(message));
      return here.result;
    } else {
      // A check before the message moves. A message whose move may throw waits in here if other
      // senders were faster.
      if (!has_room(record_type::units(1))) return pushed::full;
      stored mine(std::move(message));
      place here = reserve(record_type::units(1));
      while (!std::is_nothrow_move_constructible_v<M> && here.result == pushed::full) {
        cpu_relax();
        here = reserve(record_type::units(1));
      }
      if (here.at != nullptr) {
        record_type::write(here.at, std::move(mine));
      } else if constexpr (std::is_nothrow_move_constructible_v<M>) {
        std::destroy_at(&message);
        std::construct_at(&message, std::move(mine.get()));
      }
      return here.result;
    }
  }

  static constexpr std::size_t batch_max =
      record_type::in_place ? std::max<std::size_t>(1, Bytes / 8 / sizeof(M)) : 1;

  pushed push_all(std::span<M> messages) {
    TROUPE_EXPECTS(messages.size() <= batch_max, "arena: too many messages for one record");
    if (messages.empty()) return pushed::to_busy;
    if constexpr (record_type::in_place) {
      const place here = reserve(record_type::units(messages.size()));
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
    for (; handled < most && (left_ != 0 || next_record()); ++handled) {
      --left_;
      const destroy_after<stored> done(*current_++);
      handle(std::move(record_type::message(done.message)));
    }
    return handled;
  }

  [[nodiscard]] bool rest() noexcept {
    if (left_ != 0) return false;
    clear_last();
    show_free();
    std::uint64_t all_read = at_ << flag_bits;
    // [arena] release: transfers the reader's state to the sender that finds it idle.
    return tail_.compare_exchange_strong(all_read, all_read | idle, release, relaxed);
  }

  template <class Handle>
  std::size_t close(Handle&& handle) {
    // [arena] acquire, release: as for a sender, and refused senders come after.
    const std::uint64_t before = tail_.fetch_or(closed, acq_rel) >> flag_bits;
    std::size_t left = 0;
    while (left += drain(handle), at_ != before) cpu_relax();
    return left;
  }

 private:
  static constexpr unsigned flag_bits = 2;
  enum flag : std::uint64_t { idle = 1, closed = 2 };

  struct place {
    unit* at;  // null: refused
    pushed result;
  };

  // Positions only grow; the index is the position modulo the size.
  static std::uint64_t padding(std::uint64_t position, std::uint64_t units) noexcept {
    const std::uint64_t index = position % size;
    return index + units > size ? size - index : 0;
  }

  bool is_free_to(std::uint64_t position) const noexcept {
    // [arena-free] acquire: the reader has finished the earlier contents. Positions may be older
    // than the pop end: then the compare-and-swap fails.
    return static_cast<std::int64_t>(position - head_.load(acquire)) <=
           static_cast<std::int64_t>(size);
  }

  bool has_room(std::uint64_t units) const noexcept {
    const std::uint64_t position = tail_.load(acquire) >> flag_bits;  // [arena] only a check
    return is_free_to(position + padding(position, units) + units);
  }

  place reserve(std::uint64_t units) noexcept {
    // [arena] acquire: a sender that finds the mailbox idle sees the effects of its last reader.
    std::uint64_t tail = tail_.load(acquire);
    for (;;) {
      if ((tail & closed) != 0) return {nullptr, pushed::closed};
      const std::uint64_t position = tail >> flag_bits;
      const std::uint64_t skipped = padding(position, units);
      const std::uint64_t end = position + skipped + units;
      if (!is_free_to(end)) return {nullptr, pushed::full};
      if (!tail_.compare_exchange_weak(tail, end << flag_bits, acquire, acquire)) continue;
      if (skipped != 0) {
        units_[position % size].mark.store(unit::end, release);  // [mark]
      }
      return {&units_[(position + skipped) % size],
              (tail & idle) != 0 ? pushed::to_idle : pushed::to_busy};
    }
  }

  bool next_record() noexcept {
    clear_last();
    for (;;) {
      unit* const here = &units_[index_];
      // [mark] acquire: the messages are written.
      const std::uint64_t mark = here->mark.load(acquire);
      if (mark == unit::unwritten) {
        show_free();
        return false;
      }
      if (mark == unit::end) {
        clear_marks(here, 1);
        at_ += size - index_;
        index_ = 0;
        continue;
      }
      left_ = mark;
      current_ = record_type::first(here);
      const std::uint64_t units = record_type::units(mark);
      last_ = here;
      last_units_ = units;
      at_ += units;
      index_ += units;
      if (index_ == size) index_ = 0;
      return true;
    }
  }

  // Clears the record whose messages have been handled.
  void clear_last() noexcept {
    if (last_ == nullptr) return;
    clear_marks(std::exchange(last_, nullptr), last_units_);
    if (at_ - shown_ >= size / 16) show_free();
  }

  void show_free() noexcept {
    if (shown_ == at_) return;
    shown_ = at_;
    head_.store(at_, release);  // [arena-free]
  }

  alignas(64) atomic<std::uint64_t> tail_{0};  // the push end, and flags
  const std::unique_ptr<unit[]> units_;
  alignas(64) atomic<std::uint64_t> head_{0};  // the pop end that the senders see
  alignas(64) std::uint64_t at_ = 0;           // the pop end; all from here on is the reader's
  std::uint64_t index_ = 0;
  std::uint64_t shown_ = 0;
  stored* current_ = nullptr;
  std::uint64_t left_ = 0;
  unit* last_ = nullptr;
  std::uint64_t last_units_ = 0;
};

}  // namespace troupe::lab
