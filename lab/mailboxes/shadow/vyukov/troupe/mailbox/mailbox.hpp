// SPDX-License-Identifier: Apache-2.0
#pragma once

// In the place of include/troupe/mailbox/mailbox.hpp, to measure actors on Vyukov's queue. See
// lab/mailboxes/vyukov.hpp for the queue; here it is the intrusive form, whose stub lies in the mailbox.
// Because a mailbox closes, a push is a compare-and-swap instead of an exchange.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <troupe/message/envelope.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

class mailbox {
 public:
  enum class pushed : std::uint8_t { to_busy, to_idle, closed };

  mailbox() = default;
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;

  void open_busy() noexcept {
    stub_.next = nullptr;
    oldest_ = &stub_;
    counted_ = 0;
    newest_.store(word(&stub_), relaxed);  // [life-open] relaxed: nobody can name the mailbox yet
  }

  pushed push(envelope& message) noexcept {
    message.next = nullptr;
    // [vyukov] acquire: as in the lab's.
    std::uintptr_t before = newest_.load(acquire);
    do {
      if (before == closed) return pushed::closed;
    } while (!newest_.compare_exchange_weak(before, word(&message), acq_rel, acquire));
    next_of(*envelope_of(before)).store(&message, release);  // [vyukov]
    return (before & idle) != 0 ? pushed::to_idle : pushed::to_busy;
  }

  [[nodiscard]] envelope* pop() noexcept {
    if (counted_ != 0) --counted_;
    envelope* first = oldest_;
    envelope* next = next_of(*first).load(acquire);  // [vyukov]
    if (first == &stub_) {
      if (next == nullptr) return nullptr;
      oldest_ = first = next;
      next = next_of(*first).load(acquire);  // [vyukov]
    }
    if (next == nullptr) {
      // The last one: the stub goes behind it, unless somebody is about to.
      if (newest_.load(relaxed) != word(first)) return nullptr;  // [vyukov] relaxed: a look
      (void)push(stub_);
      next = next_of(*first).load(acquire);  // [vyukov]
      if (next == nullptr) return nullptr;
    }
    oldest_ = next;
    return first;
  }

  [[nodiscard]] bool rest() noexcept {
    std::uintptr_t none = word(&stub_);
    // [vyukov] release: as in the lab's.
    return oldest_ == &stub_ &&
           newest_.compare_exchange_strong(none, none | idle, release, relaxed);
  }

  [[nodiscard]] envelope* close() noexcept {
    // [vyukov] acquire, [mailbox-close] release.
    const envelope* const last = envelope_of(newest_.exchange(closed, acq_rel));
    envelope* left = nullptr;
    envelope** end = &left;
    for (envelope* at = oldest_;;) {
      envelope* next = nullptr;
      if (at != last) {
        // [vyukov] A sender that is at it links its message.
        while ((next = next_of(*at).load(acquire)) == nullptr) cpu_relax();
      }
      if (at != &stub_) {
        *end = at;
        end = &at->next;
      }
      if (at == last) break;
      at = next;
    }
    *end = nullptr;
    return left;
  }

  std::size_t collect() noexcept {
    counted_ = 0;
    const envelope* at = oldest_;
    if (at != &stub_) ++counted_;
    while ((at = next_of(const_cast<envelope&>(*at)).load(acquire)) != nullptr) {  // [vyukov]
      if (at != &stub_) ++counted_;
    }
    return counted_;
  }

  [[nodiscard]] bool is_empty() const noexcept {
    return oldest_ == &stub_ && (newest_.load(relaxed) & ~idle) == word(&stub_);  // [vyukov] a look
  }

  [[nodiscard]] std::uint32_t ready() const noexcept { return counted_; }

 private:
  static constexpr std::uintptr_t idle = 1;
  static constexpr std::uintptr_t closed = 2;

  static std::uintptr_t word(const envelope* of) noexcept {
    return reinterpret_cast<std::uintptr_t>(of);
  }
  static envelope* envelope_of(std::uintptr_t word) noexcept {
    return reinterpret_cast<envelope*>(word & ~idle);
  }
  // The link is plain in the envelope, which stays as it is.
  static std::atomic_ref<envelope*> next_of(envelope& of) noexcept {
    return std::atomic_ref<envelope*>(of.next);
  }

  atomic<std::uintptr_t> newest_{closed};
  envelope* oldest_ = nullptr;
  envelope stub_;
  std::uint32_t counted_ = 0;  // at the last collect(), less what was popped since
};

}  // namespace troupe::detail
