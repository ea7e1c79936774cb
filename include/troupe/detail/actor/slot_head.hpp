// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <troupe/detail/actor/lifeline.hpp>
#include <troupe/detail/mailbox/mailbox.hpp>
#include <troupe/detail/memory/stable_pool.hpp>

namespace troupe::detail {

/// The beginning of an actor's slot. It is constructed once and lives forever, so that any thread
/// may check at any time whether the actor that an address names still exists, and whether its
/// mailbox has a reader.
struct slot_head {
  lifeline life;
  mailbox_word pushed;

  [[nodiscard]] static slot_head& of(lifeline& line) noexcept {
    return *std::launder(reinterpret_cast<slot_head*>(&line));
  }

  enum class reader : std::uint8_t { nobody, of_it, of_another };

  /// By address, without a reference: becomes the reader of that actor's mailbox, if the actor is
  /// idle. While an actor has a reader, its slot is not reused, so it is sufficient to check the
  /// generation afterwards. `of_another`: the slot belongs to another actor by now; the caller is
  /// the reader of that one, and must return the mailbox as rest() or schedule() does.
  [[nodiscard]] reader try_begin_reading(std::uint32_t generation) noexcept {
    if (life.now().generation() != generation || !pushed.try_begin_reading()) return reader::nobody;
    // [mailbox] relaxed: the actor was opened before it became idle, and the reader has acquired
    // that.
    return life.now().generation() == generation ? reader::of_it : reader::of_another;
  }
};

/// The bytes after the head that stay readable in a free slot: the control block's pointer to its
/// virtual functions, and its home_, which control_block::hold_in() reads.
inline constexpr std::size_t kept_of_control_block = 2 * sizeof(void*);

using actor_slots = stable_pool<slot_head, kept_of_control_block>;

static_assert(std::is_standard_layout_v<slot_head>,
              "the lifeline must be the first member of a slot");

}  // namespace troupe::detail
