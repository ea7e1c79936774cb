// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

namespace troupe::lua::detail {

/// Limits how many bytes may be held for one purpose at a time, and counts those that are.
///
/// Threads:   one at a time.
/// Invariant: used() is the sum of all existing shares and never exceeds the limit. The allowance
///            outlives its shares.
class byte_allowance {
 public:
  /// A part of the allowance, which is returned when the share is destroyed.
  class share {
   public:
    share(share&& other) noexcept : of_(std::exchange(other.of_, nullptr)), bytes_(other.bytes_) {}
    share& operator=(share&&) = delete;
    ~share() {
      if (of_ != nullptr) of_->used_ -= bytes_;
    }

   private:
    friend class byte_allowance;
    share(byte_allowance& of, std::size_t bytes) noexcept : of_(&of), bytes_(bytes) {}

    byte_allowance* of_;
    std::size_t bytes_;
  };

  explicit byte_allowance(std::size_t most) noexcept : most_(most) {}
  byte_allowance(const byte_allowance&) = delete;
  byte_allowance& operator=(const byte_allowance&) = delete;

  /// Returns nothing if the limit would be exceeded.
  [[nodiscard]] std::optional<share> take(std::size_t bytes) noexcept {
    if (bytes > most_ - used_) return std::nullopt;
    used_ += bytes;
    return share(*this, bytes);
  }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  const std::size_t most_;
  std::size_t used_ = 0;
};

}  // namespace troupe::lua::detail
