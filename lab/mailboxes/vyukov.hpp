// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <troupe/memory/pool.hpp>
#include <troupe/sync/atomic.hpp>
#include <utility>

#include "lab/mailboxes/candidate.hpp"
#include "lab/mailboxes/node.hpp"

namespace troupe::lab {

/// Vyukov's queue («Intrusive MPSC node-based queue», 1024cores, 2010): a push is one exchange, and
/// then a store that links the previous node to it. The node that was read last stays as the stub.
/// The lowest address bit of the push end means idle, as in Pony's runtime.
///
/// A sender that is preempted between the exchange and the store hides the nodes that are pushed
/// after it: then drain() finds nothing, and rest() refuses. A limit needs a separate counter, and
/// a sender may find the mailbox full while another sender is still pushing.
///
/// Threads:   push(), push_all(): any; the rest: the reader.
/// Cost:      push: one exchange, with a limit an addition as well. drain: none, with a limit a
///            subtraction for each batch. An idle mailbox keeps a node. It cannot close: that would
///            require a compare-and-swap.
template <class M>
class vyukov {
  struct link;
  struct link {
    atomic<link*> next{nullptr};
    const void* how = nullptr;
  };
  struct node_type : link {
    explicit node_type(M&& from) { std::construct_at(message(), std::move(from)); }
    M* message() noexcept { return reinterpret_cast<M*>(room); }
    alignas(M) std::byte room[sizeof(M)];
  };

 public:
  using value_type = M;

  explicit vyukov(std::size_t limit = no_limit) : limit_(limit) {}
  vyukov(const vyukov&) = delete;
  vyukov& operator=(const vyukov&) = delete;
  ~vyukov() {
    drain([](M&&) {});
    free_stub();
  }

  pushed push(M&& message) {
    if (limit_ != no_limit && !reserve(1)) return pushed::full;
    node_type* one = nullptr;
    try {
      one = make_node<node_type>(std::move(message));
    } catch (...) {
      if (limit_ != no_limit) count_.fetch_sub(1, relaxed);  // [vyukov-count] relaxed: a count
      throw;
    }
    return link_in(one, one);
  }

  pushed push_all(std::span<M> messages) {
    if (messages.empty()) return pushed::to_busy;
    if (limit_ != no_limit && !reserve(messages.size())) return pushed::full;
    link* oldest = nullptr;
    link* newest = nullptr;
    for (M& each : messages) {
      node_type* const one = make_node<node_type>(std::move(each));
      if (oldest == nullptr) {
        oldest = one;
      } else {
        newest->next.store(one, relaxed);  // [vyukov] relaxed: published with the oldest
      }
      newest = one;
    }
    return link_in(oldest, newest);
  }

  template <class Handle>
  std::size_t drain(Handle&& handle, std::size_t most = no_limit) {
    std::size_t handled = 0;
    const struct report {
      vyukov& box;
      std::size_t& handled;
      ~report() {
        // [vyukov-count] relaxed: only a number.
        if (box.limit_ != no_limit && handled != 0) box.count_.fetch_sub(handled, relaxed);
      }
    } at_end{*this, handled};
    while (handled < most) {
      // [vyukov] acquire: the message is written.
      link* const next = oldest_->next.load(acquire);
      if (next == nullptr) break;
      free_stub();
      oldest_ = next;
      ++handled;
      const destroy_after<M> done(*static_cast<node_type*>(next)->message());
      handle(std::move(done.message));
    }
    return handled;
  }

  [[nodiscard]] bool rest() noexcept {
    std::uintptr_t newest = reinterpret_cast<std::uintptr_t>(oldest_);
    // [vyukov] release: transfers the reader's state to the sender that finds it idle.
    return newest_.compare_exchange_strong(newest, newest | idle, release, relaxed);
  }

 private:
  static constexpr std::uintptr_t idle = 1;

  bool reserve(std::size_t count) noexcept {
    // [vyukov-count] relaxed: only a number; the messages are ordered by their links.
    if (count_.fetch_add(count, relaxed) + count <= limit_) return true;
    count_.fetch_sub(count, relaxed);
    return false;
  }

  pushed link_in(link* oldest, link* newest) noexcept {
    // [vyukov] acquire: the sender that finds it idle sees the effects of the last reader, and the
    // previous node is constructed. Release: this node is constructed.
    const std::uintptr_t before =
        newest_.exchange(reinterpret_cast<std::uintptr_t>(newest), acq_rel);
    // [vyukov] release: the message is visible to the reader that finds the link.
    reinterpret_cast<link*>(before & ~idle)->next.store(oldest, release);
    return (before & idle) != 0 ? pushed::to_idle : pushed::to_busy;
  }

  // Its message is already gone.
  void free_stub() noexcept {
    if (oldest_ == &first_) return;
    auto* const one = static_cast<node_type*>(oldest_);
    std::destroy_at(one);
    pool_release(one, sizeof(node_type), alignof(node_type));
  }

  alignas(64) atomic<std::uintptr_t> newest_{reinterpret_cast<std::uintptr_t>(&first_)};
  alignas(64) atomic<std::size_t> count_{0};  // pushed and not yet handled, if there is a limit
  const std::size_t limit_;
  alignas(64) link* oldest_ = &first_;  // read already
  link first_;
};

}  // namespace troupe::lab
