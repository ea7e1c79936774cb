// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <memory>
#include <mutex>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/detail/sync/stripe.hpp>
#include <utility>

namespace troupe {

/// An object that many threads use concurrently and that is occasionally replaced. No thread waits:
/// a replaced object lives until its last use ends, and is then destroyed by the thread that ends
/// that use, or by the thread that replaced it.
///
/// Threads:   any; the destructor when no use is left.
/// Invariant: no destructor of an object runs under the lock.
/// Cost:      a use takes two additions in a cache line that it shares with few other threads.
///            is_empty(): a load.
template <class T>
class rarely_replaced {
  struct node;
  struct alignas(cache_line_bytes) stripe {
    atomic<std::size_t> uses{0};
  };

 public:
  /// One use of the object, which lives at least as long.
  class use {
   public:
    use() noexcept = default;
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    use(use&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), by_(other.by_), what_(other.what_) {}
    use& operator=(use&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(by_, other.by_);
      std::swap(what_, other.what_);
      return *this;
    }
    ~use() {
      if (of_ != nullptr) of_->leave(*by_);
    }

    explicit operator bool() const noexcept { return what_ != nullptr; }
    const T* operator->() const noexcept { return &what_->value; }

   private:
    friend rarely_replaced;
    use(rarely_replaced& of, stripe& by, const node* what) noexcept
        : of_(&of), by_(&by), what_(what) {}

    rarely_replaced* of_ = nullptr;
    stripe* by_ = nullptr;
    const node* what_ = nullptr;
  };

  rarely_replaced() = default;
  rarely_replaced(const rarely_replaced&) = delete;
  rarely_replaced& operator=(const rarely_replaced&) = delete;
  ~rarely_replaced() {
    delete now_.load(relaxed);  // [replaced] relaxed: all other threads have finished
    while (retired_ != nullptr) delete std::exchange(retired_, retired_->next);
  }

  // [replaced] relaxed: a hint; a use checks again.
  [[nodiscard]] bool is_empty() const noexcept { return now_.load(relaxed) == nullptr; }

  /// Returns whether replaced objects are still in use. For tests, which call it after joining the
  /// other threads.
  [[nodiscard]] bool has_retired() const noexcept {
    return has_retired_.load(relaxed);  // [replaced] relaxed: see above
  }

  /// Begins a use. The result converts to false if there is no object.
  [[nodiscard]] use here() noexcept {
    stripe& mine = stripes_[this_stripe()];
    // [replaced] seq_cst, all except is_empty(): a replacing thread exchanges the pointer and then
    // reads the use counts; this thread increments its count and then reads the pointer. With
    // weaker orders each could miss the other, and this thread would use an object that has been
    // destroyed.
    mine.uses.fetch_add(1, seq_cst);
    return use(*this, mine, now_.load(seq_cst));
  }

  /// Replaces the object by a new one. Throws std::bad_alloc, and exceptions of the constructor;
  /// the current object then stays.
  template <class... Parts>
  const T& emplace(Parts&&... parts) {
    auto* const next = new node{T{std::forward<Parts>(parts)...}};
    retire(now_.exchange(next, seq_cst));  // [replaced]
    return next->value;
  }
  void clear() noexcept { retire(now_.exchange(nullptr, seq_cst)); }  // [replaced]

 private:
  struct node {
    const T value;
    node* next = nullptr;  // the next replaced object
    // The stripes that have had no use since the replacement. A use that begins later is a use of
    // another object.
    std::bitset<stripes> seen_idle{};
  };

  void leave(stripe& mine) noexcept {
    // [replaced] A replacing thread sets has_retired_ and then reads the use counts; this thread
    // decrements its count and then reads has_retired_. At least one of them sees the other, and
    // destroys the object. seq_cst includes release: this thread's uses of the object come before.
    mine.uses.fetch_sub(1, seq_cst);
    if (has_retired_.load(seq_cst)) destroy_unused();
  }

  void retire(node* old) noexcept {
    if (old == nullptr) return;
    {
      const std::lock_guard lock(mutex_);
      old->next = std::exchange(retired_, old);
      has_retired_.store(true, seq_cst);  // [replaced]
    }
    destroy_unused();
  }

  void destroy_unused() noexcept {
    node* unused = nullptr;
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < stripes; ++i) {
        if (stripes_[i].uses.load(seq_cst) != 0) continue;  // [replaced]
        for (node* each = retired_; each != nullptr; each = each->next) each->seen_idle.set(i);
      }
      for (node** at = &retired_; *at != nullptr;) {
        node* const each = *at;
        if (!each->seen_idle.all()) {
          at = &each->next;
          continue;
        }
        *at = each->next;
        each->next = std::exchange(unused, each);
      }
      // [replaced] relaxed: false needs no order, and a thread that retires another object holds
      // this lock.
      if (retired_ == nullptr) has_retired_.store(false, relaxed);
    }
    while (unused != nullptr) delete std::exchange(unused, unused->next);
  }

  alignas(cache_line_bytes) atomic<node*> now_{nullptr};
  atomic<bool> has_retired_{false};
  std::array<stripe, stripes> stripes_{};
  mutex mutex_;  // guards what follows
  node* retired_ = nullptr;
};

}  // namespace troupe
