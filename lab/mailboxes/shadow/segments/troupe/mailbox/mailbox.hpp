// SPDX-License-Identifier: Apache-2.0
#pragma once

// In the place of include/troupe/mailbox/mailbox.hpp, to measure actors on segments. See
// lab/mailboxes/segments.hpp for how they work. A mailbox is handed envelopes that are built already, so these are
// segments of pointers: a place holds the envelope's address, which is the mark as well. Copies would
// need a make_envelope() that reserves in the receiver.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <troupe/memory/pool.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/sync/atomic.hpp>
#include <utility>

namespace troupe::detail {

class mailbox {
 public:
  enum class pushed : std::uint8_t { to_busy, to_idle, closed };

  mailbox() = default;
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;

  void open_busy() noexcept {
    word_.store(special(empty), relaxed);  // [life-open] relaxed: nobody can name the mailbox yet
  }

  pushed push(envelope& message) noexcept {
    // [segments] acquire: as in the lab's.
    std::uint64_t word = word_.load(acquire);
    segment* fresh = nullptr;
    for (;;) {
      segment* const current = segment_of(word);
      if (current != nullptr && used_of(word) < room_of(word)) {
        if (!word_.compare_exchange_weak(word, word + 1, acquire, acquire)) continue;
        if (fresh != nullptr) give(fresh);
        current->places()[used_of(word)].store(&message, release);  // [mark]
        return pushed::to_busy;
      }
      if (word == special(closed)) {
        if (fresh != nullptr) give(fresh);
        return pushed::closed;
      }
      if (fresh == nullptr) fresh = take(current != nullptr);
      // [segments] release: its places are empty.
      if (!word_.compare_exchange_weak(word, word_of(fresh, 1), acq_rel, acquire)) continue;
      const pushed result = word == special(idle) ? pushed::to_idle : pushed::to_busy;
      if (current != nullptr) {
        current->next = fresh;
        current->places()[used_of(word)].store(end_mark(), release);  // [mark]
      } else {
        first_.store(fresh, release);  // [segments-first]
      }
      fresh->places()[0].store(&message, release);  // [mark]
      return result;
    }
  }

  [[nodiscard]] envelope* pop() noexcept {
    for (;;) {
      if (reading_ == nullptr) {
        reading_ = first_.load(acquire);  // [segments-first]
        if (reading_ == nullptr) return nullptr;
        first_.store(nullptr, relaxed);  // [segments-first] relaxed: rest() comes before the next
        at_ = 0;
      }
      envelope* const found = reading_->places()[at_].load(acquire);  // [mark]
      if (found == nullptr) return nullptr;
      if (found != end_mark()) {
        ++at_;
        if (counted_ != 0) --counted_;
        return found;
      }
      give(std::exchange(reading_, reading_->next));
      at_ = 0;
    }
  }

  [[nodiscard]] bool rest() noexcept {
    std::uint64_t all_read = special(empty);
    segment* const last = reading_;
    if (last != nullptr) {
      if (last->places()[at_].load(relaxed) != nullptr) return false;  // [mark] relaxed: a look
      all_read = word_of(last, at_);
      reading_ = nullptr;
    }
    // [segments] release: as in the lab's. After it another reader may be here.
    if (word_.compare_exchange_strong(all_read, special(idle), release, relaxed)) {
      if (last != nullptr) give(last);
      return true;
    }
    reading_ = last;
    return false;
  }

  [[nodiscard]] envelope* close() noexcept {
    const std::uint64_t before = word_.exchange(special(closed), acq_rel);  // [segments]
    envelope* left = nullptr;
    envelope** end = &left;
    const auto take_all = [&] {
      while (envelope* const one = pop()) {
        *end = one;
        end = &one->next;
      }
    };
    if (segment* const last = segment_of(before); last != nullptr) {
      while (take_all(), reading_ != last || at_ != used_of(before)) cpu_relax();
      give(std::exchange(reading_, nullptr));
    }
    *end = nullptr;
    return left;
  }

  std::size_t collect() noexcept {
    counted_ = 0;
    if (reading_ == nullptr) {
      reading_ = first_.load(acquire);  // [segments-first]
      if (reading_ == nullptr) return 0;
      first_.store(nullptr, relaxed);  // [segments-first]
      at_ = 0;
    }
    std::uint64_t index = at_;
    for (segment* at = reading_;;) {
      envelope* const found = at->places()[index].load(acquire);  // [mark]
      if (found == nullptr) return counted_;
      if (found == end_mark()) {
        at = at->next;
        index = 0;
      } else {
        ++counted_;
        ++index;
      }
    }
  }

  [[nodiscard]] bool is_empty() const noexcept {
    if (reading_ == nullptr) return first_.load(relaxed) == nullptr;  // a look
    return reading_->places()[at_].load(relaxed) == nullptr;          // [mark] a look
  }

  [[nodiscard]] std::uint32_t ready() const noexcept { return counted_; }

 private:
  using place = atomic<envelope*>;

  struct alignas(16) segment {
    segment* next;
    bool large;
    place* places() noexcept { return std::launder(reinterpret_cast<place*>(this + 1)); }
  };

  // Whole blocks of the pool.
  static constexpr std::uint64_t places(bool large) noexcept {
    return ((large ? 1'024 : 64) - sizeof(segment)) / sizeof(place);
  }
  static constexpr std::size_t bytes(bool large) noexcept { return large ? 1'024 : 64; }

  static segment* take(bool large) noexcept {
    auto* const one = ::new (pool_allocate(bytes(large))) segment{nullptr, large};
    for (std::uint64_t i = 0; i < places(large); ++i) {
      ::new (reinterpret_cast<place*>(one + 1) + i) place{nullptr};
    }
    return one;
  }
  static void give(segment* one) noexcept { pool_release(one, bytes(one->large)); }

  enum which : std::uint64_t { empty = 0, idle = 1, closed = 2 };
  static constexpr std::uint64_t used_mask = (std::uint64_t{1} << 16) - 1;
  static constexpr std::uint64_t large_bit = std::uint64_t{1} << 16;

  static constexpr std::uint64_t special(which what) noexcept { return std::uint64_t{what} << 20; }
  static std::uint64_t word_of(segment* one, std::uint64_t used) noexcept {
    return reinterpret_cast<std::uintptr_t>(one) << 16 | (one->large ? large_bit : 0) | used;
  }
  static segment* segment_of(std::uint64_t word) noexcept {
    const std::uint64_t address = word >> 20;
    return address > closed ? reinterpret_cast<segment*>(address << 4) : nullptr;
  }
  static std::uint64_t used_of(std::uint64_t word) noexcept { return word & used_mask; }
  static std::uint64_t room_of(std::uint64_t word) noexcept {
    return places((word & large_bit) != 0) - 1;
  }
  static envelope* end_mark() noexcept { return reinterpret_cast<envelope*>(std::uintptr_t{1}); }

  atomic<std::uint64_t> word_{special(closed)};
  atomic<segment*> first_{nullptr};
  segment* reading_ = nullptr;
  std::uint32_t at_ = 0;
  std::uint32_t counted_ = 0;  // at the last collect(), less what was popped since
};

}  // namespace troupe::detail
