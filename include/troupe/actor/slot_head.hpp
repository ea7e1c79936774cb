// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include <troupe/actor/lifeline.hpp>
#include <troupe/mailbox/mailbox.hpp>

namespace troupe::detail {

/// The beginning of an actor's slot: constructed once, and there for ever, so that any thread may ask at
/// any time whether what an address names is there, and whether anybody reads its mailbox.
struct slot_head {
  lifeline life;
  mailbox_word pushed;

  [[nodiscard]] static slot_head& of(lifeline& line) noexcept {
    return *std::launder(reinterpret_cast<slot_head*>(&line));
  }

  enum class reader : std::uint8_t { nobody, of_it, of_another };

  /// By address, without a reference: becomes the reader of that actor, if it is idle. An actor whose turns
  /// somebody has stays what it is, so it is enough to look behind that whether it is the one. `of_another`: it
  /// is not any more; the caller is that one's reader now, and has to give the mailbox back as rest()
  /// or schedule() does.
  [[nodiscard]] reader try_begin_reading(std::uint32_t generation) noexcept {
    if (life.now().generation() != generation || !pushed.try_begin_reading()) return reader::nobody;
    // [mailbox] relaxed: the actor was opened before it became idle, and that was acquired.
    return life.now().generation() == generation ? reader::of_it : reader::of_another;
  }
};

static_assert(std::is_standard_layout_v<slot_head>, "a lifeline in a slot is where that begins");

}  // namespace troupe::detail
