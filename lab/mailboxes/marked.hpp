// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>
#include <utility>
#include <vector>

#include "lab/mailboxes/candidate.hpp"

namespace troupe::lab {

/// Memory that returns to its allocating thread. A message lies in a block of its sender's. The
/// receiver only marks the block, and the sender finds the mark when it goes through its blocks
/// again. Blocks travel as in two stacks, without a count: the limit is the number of blocks of a
/// sender.
///
/// Threads:   a sender belongs to one thread; otherwise as for the other candidates.
/// Invariant: a block is in flight from push() until it is marked, and the sender touches only
///            marked blocks.
/// Cost:      push: one compare-and-swap, and a check of the marks of some blocks, each of which
///            the receiver has written last. Blocks stay with the sender until the mailbox ends: as
///            many as were ever in flight at once.
template <class M>
class marked {
 public:
  using value_type = M;

 private:
  struct block {
    block* next = nullptr;
    atomic<bool> is_free{true};
    alignas(M) std::byte room[sizeof(M)];

    M* message() noexcept { return reinterpret_cast<M*>(room); }
  };

  // The memory of one sender: slabs of blocks, in the order in which it uses them.
  struct holdings {
    std::vector<std::unique_ptr<block[]>> slabs;
    std::size_t blocks = 0;
    std::size_t slab = 0;
    std::size_t place = 0;
    bool in_use = true;
  };

 public:
  explicit marked(std::size_t limit = no_limit) : limit_(limit) {}
  marked(const marked&) = delete;
  marked& operator=(const marked&) = delete;
  ~marked() {
    drain([](M&&) {});
  }

  /// The limit applies to each sender.
  class sender {
   public:
    explicit sender(marked& to) : to_(to), mine_(to.take_holdings()) {}
    sender(const sender&) = delete;
    sender& operator=(const sender&) = delete;
    ~sender() { to_.leave(mine_); }

    pushed push(M&& message) {
      block* const one = take();
      if (one == nullptr) return pushed::full;
      std::construct_at(one->message(), std::move(message));
      one->is_free.store(false, relaxed);  // [mark] relaxed: published with the message
      ++mine_.place;
      return to_.publish(one);
    }

   private:
    // Takes the next block if it is free, otherwise a new one. Messages of one sender are handled
    // in order, so if the next block is not free, others probably are not either.
    block* take() {
      if (!mine_.slabs.empty()) {
        if (mine_.place == slab_blocks) {
          mine_.place = 0;
          if (++mine_.slab == mine_.slabs.size()) mine_.slab = 0;
        }
        block& next = mine_.slabs[mine_.slab][mine_.place];
        // [mark] acquire: the receiver has finished with it.
        if (next.is_free.load(acquire)) return &next;
      }
      if (mine_.blocks >= to_.limit_) return nullptr;
      return grow();
    }

    // New blocks go to the sender's position: between those in flight and those that have been free
    // the longest. A slab is not divided, so it goes after the slab at that position.
    block* grow() {
      const auto at = static_cast<std::ptrdiff_t>(mine_.slabs.empty() ? 0 : mine_.slab + 1);
      mine_.slabs.insert(mine_.slabs.begin() + at, std::make_unique<block[]>(slab_blocks));
      mine_.blocks += slab_blocks;
      mine_.slab = static_cast<std::size_t>(at);
      mine_.place = 0;
      return &mine_.slabs[mine_.slab][0];
    }

    marked& to_;
    holdings& mine_;
  };

  template <class Handle>
  std::size_t drain(Handle&& handle, std::size_t most = no_limit) {
    struct mark_after {
      block* one;
      ~mark_after() {
        std::destroy_at(one->message());
        // [mark] release: the sender that finds the mark may write the block.
        one->is_free.store(true, release);
      }
    };
    std::size_t handled = 0;
    for (; handled < most && (ready_ != nullptr || refill()); ++handled) {
      const mark_after done{std::exchange(ready_, ready_->next)};
      handle(std::move(*done.one->message()));
    }
    return handled;
  }

  [[nodiscard]] bool rest() noexcept {
    if (ready_ != nullptr) return false;
    block* head = nullptr;
    // [marked] release: transfers the reader's state to the sender that finds it idle.
    return head_.compare_exchange_strong(head, idle(), release, relaxed);
  }

 private:
  static constexpr std::size_t slab_blocks =
      std::clamp<std::size_t>(16 * 1'024 / sizeof(block), 1, 256);

  static block* idle() noexcept { return reinterpret_cast<block*>(std::uintptr_t{1}); }

  pushed publish(block* one) noexcept {
    // [marked] acquire: the sender that finds it idle sees the effects of the last reader. Release:
    // the message is visible to the reader.
    block* head = head_.load(acquire);
    do {
      one->next = head == idle() ? nullptr : head;
    } while (!head_.compare_exchange_weak(head, one, acq_rel, acquire));
    return head == idle() ? pushed::to_idle : pushed::to_busy;
  }

  bool refill() noexcept {
    const block* const head = head_.load(relaxed);  // [marked] relaxed: a check
    if (head == nullptr || head == idle()) return false;
    // [marked] acquire: the messages, through the release sequence of their pushes.
    block* newest = head_.exchange(nullptr, acquire);
    while (newest != nullptr) ready_ = std::exchange(newest, std::exchange(newest->next, ready_));
    return true;
  }

  holdings& take_holdings() {
    const std::lock_guard lock(mutex_);
    for (auto& each : senders_) {
      if (!std::exchange(each->in_use, true)) return *each;
    }
    return *senders_.emplace_back(std::make_unique<holdings>());
  }

  void leave(holdings& those) noexcept {
    const std::lock_guard lock(mutex_);
    those.in_use = false;
  }

  alignas(64) atomic<block*> head_{nullptr};
  const std::size_t limit_;
  mutex mutex_;
  std::vector<std::unique_ptr<holdings>> senders_;
  alignas(64) block* ready_ = nullptr;  // the reader's list, oldest first
};

}  // namespace troupe::lab
