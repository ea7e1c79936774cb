// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::detail {

/// The capacity of a mailbox, in units: a message is one unit, and one more for each whole 2^shift
/// bytes.
///
///   0 ─────────── low ─────────── soft ─────────────────────── units_max
///   suspended senders continue     the mailbox is full; messages accepted
///   at or below this               with backpressure beyond this are the overdraft
///
/// A mailbox is therefore full when its messages, or their bytes, have reached the configured
/// limit; if both are large, it may be full at half of either.
struct mailbox_limits {
  /// The largest number of units that the mailbox can count.
  static constexpr std::uint32_t units_max = (1u << 19) - 1;

  std::uint32_t soft = units_max;
  std::uint32_t low = units_max / 2;
  std::uint32_t quantum = units_max / 8;  // units handled before the senders are told
  std::uint8_t shift = 63;
  std::uint8_t per_message = 0;  // 1; 0: no limit, and nothing is counted

  /// Returns the units of a message that is accepted by one of these mailboxes; `weight` is 0 for
  /// messages that are always accepted.
  [[nodiscard]] constexpr std::size_t units(std::size_t bytes, std::uint8_t weight) const noexcept {
    return (bytes >> shift) + (weight & per_message);
  }
};

}  // namespace troupe::detail
