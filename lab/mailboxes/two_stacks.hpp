// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <troupe/base/assert.hpp>
#include <troupe/sync/atomic.hpp>
#include <type_traits>
#include <utility>

#include "lab/mailboxes/candidate.hpp"
#include "lab/mailboxes/node.hpp"
#include "lab/mailboxes/packed_word.hpp"

namespace troupe::lab {

/// Senders push onto a Treiber stack; the reader takes it completely and reverses it. Besides the
/// newest node, the stack's head contains the number of messages in flight: pushed and not yet
/// handled. So the limit costs nothing, and is exact.
///
/// Threads:   push(), push_all(), publish(): any; the rest: the reader.
/// Invariant: the number in the head is the number of messages on the stack, on the reader's list
///            and in its hands, plus those that it has handled and not yet subtracted: less than
///            report_after().
/// Cost:      push: one compare-and-swap. drain: one for all available messages, and a subtraction
///            for each report_after() messages. A message brings its node.
///
/// The reader's part has its own cache lines here: 128 bytes. In an actor it would be 24 bytes, and
/// share a line.
template <class M>
class two_stacks {
 public:
  using value_type = M;
  struct node_type : node<M, node_type*> {
    using node<M, node_type*>::node;
  };

  static constexpr std::size_t limit_max = packed_word::number_max;

  explicit two_stacks(std::size_t limit = no_limit)
      : limit_(static_cast<std::uint32_t>(std::min(limit, limit_max))),
        report_after_(std::max(1u, std::min(limit_ / 4, 4'096u))) {}
  two_stacks(const two_stacks&) = delete;
  two_stacks& operator=(const two_stacks&) = delete;
  ~two_stacks() {
    close([](M&&) {});
  }

  pushed push(M&& message) {
    // [stack] relaxed: only a check, before the message moves.
    const packed_word seen{head_.load(relaxed)};
    if (seen.is_special(closed)) return pushed::closed;
    if (seen.number() >= limit_) return pushed::full;
    node_type* const one = make_node<node_type>(std::move(message));
    const pushed result = publish(one, one, 1);
    if (!is_taken(result)) take_back(result, one, message);
    return result;
  }

  pushed push_all(std::span<M> messages) {
    if (messages.empty()) return pushed::to_busy;
    const packed_word seen{head_.load(relaxed)};  // [stack] relaxed: only a check.
    if (seen.is_special(closed)) return pushed::closed;
    if (seen.number() + messages.size() > limit_) return pushed::full;
    chain mine;
    for (M& each : messages) mine.add(make_node<node_type>(std::move(each)));
    const pushed result = publish(mine.newest, mine.oldest, mine.count);
    if (!is_taken(result)) {
      node_type* left = mine.newest;
      for (std::size_t i = messages.size(); i-- > 0;) {
        node_type* const one = std::exchange(left, left->next);
        take_back(result, one, messages[i]);
      }
    }
    mine.forget();
    return result;
  }

  /// Publishes nodes, which are linked from the newest to the oldest, in one step. They remain the
  /// caller's unless they are accepted. A message whose move may throw cannot be returned, so a
  /// chain with such messages is accepted although it exceeds the limit.
  pushed publish(node_type* newest, node_type* oldest, std::uint32_t count) noexcept {
    // [stack] acquire: a sender that finds the mailbox idle becomes responsible for its reader, and
    // must see everything that the last reader did before rest() released it.
    packed_word head{head_.load(acquire)};
    for (;;) {
      if (head.is_special(closed)) return pushed::closed;
      if (std::is_nothrow_move_constructible_v<M> && head.number() + count > limit_) {
        return pushed::full;
      }
      TROUPE_ASSERT(head.number() + count <= packed_word::number_max, "two_stacks: overflow");
      oldest->next = head.is_address() ? head.address<node_type>() : nullptr;
      const std::uint64_t number = head.number() + count;
      // [stack] release: the messages are visible to the reader that takes them in refill().
      if (head_.compare_exchange_weak(head.bits, packed_word::of(newest, number).bits, acq_rel,
                                      acquire)) {
        return head.is_special(idle) ? pushed::to_idle : pushed::to_busy;
      }
      back_off();
    }
  }

  template <class Handle>
  std::size_t drain(Handle&& handle, std::size_t most = no_limit) {
    std::size_t handled = 0;
    for (; handled < most && (ready_ != nullptr || refill()); ++handled) {
      const free_node_after<node_type> done(ready_);
      ready_ = ready_->next;
      if (++handled_ >= report_after_) {
        // [stack] relaxed: a sender reads only the number; this continues the release sequence of
        // the word.
        head_.fetch_sub(std::exchange(handled_, 0), relaxed);
      }
      handle(std::move(done.one->message));
    }
    return handled;
  }

  [[nodiscard]] bool rest() noexcept {
    if (ready_ != nullptr) return false;
    std::uint64_t head = packed_word::special(empty, std::exchange(handled_, 0)).bits;
    const std::uint64_t expected = head;
    // [stack] release: transfers the reader's state to the sender that finds it idle, and to the
    // reader that this sender then appoints.
    if (head_.compare_exchange_strong(head, packed_word::special(idle).bits, release, relaxed)) {
      return true;
    }
    handled_ = static_cast<std::uint32_t>(packed_word{expected}.number());
    return false;
  }

  template <class Handle>
  std::size_t close(Handle&& handle) {
    // [stack] acquire: the remaining messages are about to be read. Release: refused senders come
    // after.
    const packed_word head{head_.exchange(packed_word::special(closed).bits, acq_rel)};
    if (head.is_address()) append_reversed(head.address<node_type>());
    std::size_t left = 0;
    for (; ready_ != nullptr; ++left) {
      const free_node_after<node_type> done(ready_);
      ready_ = ready_->next;
      handle(std::move(done.one->message));
    }
    return left;
  }

  /// The maximum number of handled messages that the head still counts.
  [[nodiscard]] std::uint32_t report_after() const noexcept { return report_after_; }

  /// Messages that one sender has linked and not yet published.
  struct chain {
    chain() = default;
    chain(const chain&) = delete;
    chain& operator=(const chain&) = delete;
    ~chain() {
      while (newest != nullptr) free_node(std::exchange(newest, newest->next));
    }
    void add(node_type* one) noexcept {
      one->next = newest;
      newest = one;
      if (oldest == nullptr) oldest = one;
      ++count;
    }
    void forget() noexcept {
      newest = oldest = nullptr;
      count = 0;
    }
    node_type* newest = nullptr;
    node_type* oldest = nullptr;
    std::uint32_t count = 0;
  };

 private:
  // The other states of the head besides a node's address. As in the mailbox: closed → … , idle →
  // node (push), empty → node (push), node → empty (refill), empty → idle (rest), any → closed
  // (close).
  enum special : std::uint64_t { empty = 0, idle = 1, closed = 2 };

  // A sender that loses a step leaves the cache line to the winner for some pushes: with two cores
  // that is faster than contending for it.
  static void back_off() noexcept {
    for (int i = 0; i < 4; ++i) cpu_relax();
  }

  static void take_back(pushed result, node_type* one, M& message) noexcept {
    if constexpr (std::is_nothrow_move_constructible_v<M>) {
      if (result == pushed::full) {
        std::destroy_at(&message);
        std::construct_at(&message, std::move(one->message));
      }
    }
    free_node(one);
  }

  bool refill() noexcept {
    packed_word head{head_.load(relaxed)};  // [stack] relaxed: a check; the step below acquires.
    if (!head.is_address()) return false;
    // [stack] acquire: every message of the batch was published by a compare-and-swap in the
    // release sequence that this reads from. Handled messages are subtracted in the same step.
    while (!head_.compare_exchange_weak(
        head.bits, packed_word::special(empty, head.number() - handled_).bits, acquire, relaxed)) {
      back_off();
    }
    handled_ = 0;
    append_reversed(head.address<node_type>());
    return true;
  }

  void append_reversed(node_type* newest) noexcept {
    node_type* oldest = nullptr;
    while (newest != nullptr) oldest = std::exchange(newest, std::exchange(newest->next, oldest));
    node_type** end = &ready_;  // only close() finds nodes on the list here
    while (*end != nullptr) end = &(*end)->next;
    *end = oldest;
  }

  alignas(64) atomic<std::uint64_t> head_{packed_word::special(empty).bits};
  const std::uint32_t limit_;
  const std::uint32_t report_after_;
  alignas(64) node_type* ready_ = nullptr;  // the reader's list, oldest first
  std::uint32_t handled_ = 0;               // handled messages that the head still counts
};

}  // namespace troupe::lab
