// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include <troupe/sync/atomic.hpp>

namespace troupe::http::detail {

/// The error message of an errand for which no memory is left.
inline constexpr std::string_view too_many_bytes =
    "the requests and responses of this client exceed bytes_max";

/// The limit in bytes for all work of a client together, and the bytes in use.
///
/// Threads:   any.
/// Invariant: the bytes in use are the sum of all shares, and at most the limit.
class byte_gauge {
 public:
  explicit byte_gauge(std::size_t most) noexcept : most_(most) {}

  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  [[nodiscard]] std::size_t used() const noexcept {
    return used_.load(relaxed);  // [bytes] relaxed: a number alone
  }

 private:
  friend class byte_share;

  bool add(std::size_t bytes) noexcept {
    // [bytes] relaxed: a number alone; messages publish what it counts.
    std::size_t now = used_.load(relaxed);
    do {
      if (bytes > most_ - now) return false;
      // [bytes] relaxed: as above
    } while (!used_.compare_exchange_weak(now, now + bytes, relaxed, relaxed));
    return true;
  }
  void subtract(std::size_t bytes) noexcept {
    used_.fetch_sub(bytes, relaxed);  // [bytes] relaxed: as above
  }

  const std::size_t most_;
  atomic<std::size_t> used_{0};
};

/// The bytes of one request, and then of its response. They count until this object is destroyed.
///
/// Threads: one at a time.
class byte_share {
 public:
  explicit byte_share(std::shared_ptr<byte_gauge> of) noexcept : of_(std::move(of)) {}
  byte_share(const byte_share&) = delete;
  byte_share& operator=(const byte_share&) = delete;
  ~byte_share() { of_->subtract(bytes_); }

  /// Returns false and changes nothing if the total would exceed the limit. Making the share
  /// smaller always succeeds.
  [[nodiscard]] bool resize(std::size_t bytes) noexcept {
    if (bytes > bytes_ && !of_->add(bytes - bytes_)) return false;
    if (bytes < bytes_) of_->subtract(bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }

 private:
  const std::shared_ptr<byte_gauge> of_;
  std::size_t bytes_ = 0;
};

}  // namespace troupe::http::detail
