// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include <troupe/detail/sync/atomic.hpp>

namespace troupe::http::detail {

/// Memory for all request bodies of one server: limits::request_bodies_bytes.
///
/// Threads:   any.
/// Invariant: the bytes taken never exceed the limit.
class body_budget {
 public:
  explicit body_budget(std::size_t limit) noexcept : limit_(limit) {}

  /// Returns false if less than that is left.
  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    std::size_t taken = taken_.load(relaxed);  // [bodies] relaxed: it publishes nothing
    do {
      if (bytes > limit_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes, relaxed));  // [bodies]
    return true;
  }
  void give_back(std::size_t bytes) noexcept {
    taken_.fetch_sub(bytes, relaxed);  // [bodies]
  }
  [[nodiscard]] std::size_t taken() const noexcept {
    return taken_.load(relaxed);  // [bodies]
  }

 private:
  const std::size_t limit_;
  atomic<std::size_t> taken_{0};
};

/// The part of the budget that one request uses. The destructor returns it.
///
/// Threads: a plain value.
class body_share {
 public:
  explicit body_share(body_budget& of) noexcept : of_(&of) {}
  /// The other one has nothing afterwards, and can be used again.
  body_share(body_share&& other) noexcept
      : of_(other.of_), bytes_(std::exchange(other.bytes_, 0)) {}
  body_share& operator=(body_share&&) = delete;
  ~body_share() { clear(); }

  [[nodiscard]] bool grow(std::size_t by) noexcept {
    if (!of_->take(by)) return false;
    bytes_ += by;
    return true;
  }
  void clear() noexcept {
    if (bytes_ > 0) of_->give_back(std::exchange(bytes_, 0));
  }

 private:
  body_budget* const of_;
  std::size_t bytes_ = 0;
};

}  // namespace troupe::http::detail
