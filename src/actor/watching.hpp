// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/monitor.hpp>
#include <troupe/sync/atomic.hpp>

#include "bonds.hpp"

namespace troupe::detail {

class end_waiter;
struct side_block;

/// The head of a watch's slot, which is constructed once and read for ever: so that a monitor may ask
/// whether what it names is still there.
struct alignas(16) watch_slot {
  atomic<std::uint64_t> generation{1};
  atomic<control_block*> watcher{nullptr};
};

/// One watch, and at the same time the `down` that answers it.
///
/// listed       in the bonds of the watched actor, under their mutex
/// on its way   in the mailbox of the watcher, or in the hands of the watched one's last turn
///
/// listed → on its way   in the watched one's last turn
/// listed → free         unwatch(), or the watcher's end, by the watcher's turn
/// on its way → free     the watcher's turn, or the watched one's last turn if the watcher has ended
///
/// The watcher's turn lets go of its watches before its lifeline says that it has ended; until then
/// what is on its way comes into its mailbox. So of the two only one frees it.
struct watch : envelope {
  watch(control_block& watcher, const address& watched, end_waiter* awaited_by) noexcept;

  const address watched;
  end_waiter* const awaited;  // a handler that its `down` goes to; null: on(down)

  watch* later = nullptr;  // in the list of the watched one
  watch* earlier = nullptr;

  watch* next_own = nullptr;  // in the list of the watcher; its turn's, as what follows
  watch* previous_own = nullptr;
  const std::uint32_t watcher;  // its generation; who it is says the slot
  bool unwatched = false;       // its `down` is not handled

  // Of the watched one's end, as it is on its way.
  exit_reason reason = exit_reason::unknown;
  std::size_t unhandled = 0;
  std::shared_ptr<const std::string> what;
};

inline constexpr std::size_t watch_bytes = sizeof(watch_slot) + sizeof(watch);
static_assert(watch_bytes <= 128);

/// For an actor whose class has an on(down), or for a handler of it that waits, until that lets go by
/// unwatch(). `target` is the actor at `watched`, held by the caller, or null if it has ended. Throws
/// std::bad_alloc.
monitor watch_it(control_block& watcher, const address& watched, control_block* target,
                 end_waiter* handler = nullptr);

/// In the watcher's turn: whether the other one has ended, and the `down` has not been handled yet.
[[nodiscard]] bool is_on_its_way(const monitor& which) noexcept;

/// False if it was over already. Throws std::logic_error if it is another actor's.
bool unwatch(control_block& watcher, const monitor& which);

/// Of an actor whose object is gone: all that it has not been told yet.
void end_watches(side_block& of) noexcept;

/// Of an actor whose object is gone, and that stays: none of it will be handled.
void unwatch_all(side_block& of) noexcept;

/// Sends it to its watcher; if that has ended, frees it.
void send_down(watch& one, const end_cause& why) noexcept;

}  // namespace troupe::detail
