// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::detail {

/// How much a mailbox holds, in units: a message is one, and one more for each whole 2^shift bytes.
///
///   0 ─────────── low ─────────── soft ─────────────────────── hard
///   goes on again ◀──── senders wait from here on ────▶│ nothing more
///
/// So a mailbox is full when its messages, or their bytes, have reached what was asked for; where
/// both are large it may be full at half of either.
struct mailbox_limits {
  /// What the mailbox can count to.
  static constexpr std::uint32_t units_max = (1u << 19) - 1;

  std::uint32_t soft = units_max;
  std::uint32_t hard = units_max;
  std::uint32_t low = units_max / 2;
  std::uint32_t quantum = units_max / 8;  // how much is handled before the senders are told
  std::uint8_t shift = 63;
  std::uint8_t per_message = 0;  // 1; 0: there is no limit, and nothing is counted

  /// Of a message that is taken in one of these mailboxes; `weight` is 0 for what is always taken.
  [[nodiscard]] constexpr std::size_t units(std::size_t bytes, std::uint8_t weight) const noexcept {
    return (bytes >> shift) + (weight & per_message);
  }
};

}  // namespace troupe::detail
