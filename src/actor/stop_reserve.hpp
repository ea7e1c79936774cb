// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::detail {

/// A few envelopes that tell actors to stop when there is no memory for new ones, so that a system
/// can shut down even then. Each comes back when its actor has handled or discarded it.
///
/// Threads: any.
class stop_reserve {
 public:
  struct one : envelope {
    stop_reserve* of = nullptr;
  };

  stop_reserve() noexcept {
    for (one& each : all_) each.of = this;
  }
  stop_reserve(const stop_reserve&) = delete;
  stop_reserve& operator=(const stop_reserve&) = delete;

  /// Null: all of them are in use.
  [[nodiscard]] envelope* take(const dispatch& how) noexcept {
    std::uint32_t free = free_.load(relaxed);
    while (free != 0) {
      // [reserve] acquire: the envelope's previous user is done with it.
      if (!free_.compare_exchange_weak(free, free & (free - 1), acquire, relaxed)) continue;
      one& taken = all_[static_cast<std::size_t>(std::countr_zero(free))];
      taken.how = &how;
      return &taken;
    }
    return nullptr;
  }

  static void give_back(envelope& taken) noexcept {
    one& it = static_cast<one&>(taken);
    stop_reserve& of = *it.of;
    const auto at = static_cast<std::size_t>(&it - of.all_.data());
    of.free_.fetch_or(std::uint32_t{1} << at, release);  // [reserve] release: to take()
  }

 private:
  std::array<one, 32> all_;
  atomic<std::uint32_t> free_{~std::uint32_t{0}};
};

}  // namespace troupe::detail
