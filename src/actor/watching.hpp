// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/monitor.hpp>
#include <troupe/sync/atomic.hpp>

#include "termination_notices.hpp"

namespace troupe::detail {

class end_waiter;
struct side_block;

/// The head of a watch's slot. It is constructed once and stays readable forever, so that a monitor
/// may check whether its watch still exists.
struct alignas(16) watch_slot {
  atomic<std::uint64_t> generation{1};
  atomic<control_block*> watcher{nullptr};
};

/// One watch, and at the same time the `down` that is sent for it.
///
/// listed       in the termination_notices of the watched actor, under their mutex
/// on its way   in the mailbox of the watcher, or held by the watched actor's last turn
///
/// listed → on its way   in the watched actor's last turn
/// listed → free         unwatch(), or the watcher's termination, by the watcher's turn
/// on its way → free     the watcher's turn, or the watched one's last turn if the watcher is gone
///
/// The watcher's turn releases its watches before its lifeline says that it has terminated; until
/// then a watch on its way arrives in its mailbox. So only one of the two frees it.
struct watch : envelope {
  watch(control_block& watcher, const address& watched, end_waiter* awaited_by) noexcept;

  const address watched;
  end_waiter* const awaited;  // a handler that its `down` goes to; null: on(down)

  watch* later = nullptr;  // in the list of the watched actor
  watch* earlier = nullptr;

  watch* next_own = nullptr;  // in the watcher's list; its turn's, like the following members
  watch* previous_own = nullptr;
  const std::uint32_t watcher;  // its generation; the slot says which actor
  bool unwatched = false;       // its `down` is not handled
  bool in_envelope =
      false;  // its `down` has arrived, possibly not yet handled: see told_of_ends.hpp

  // About the watched actor's termination, while it is on its way.
  exit_reason reason = exit_reason::unknown;
  std::size_t unhandled = 0;
  std::shared_ptr<const std::string> what;
};

inline constexpr std::size_t watch_bytes = sizeof(watch_slot) + sizeof(watch);
static_assert(watch_bytes <= 128);

/// Watches for an actor whose class has an on(down), or for one of its suspended handlers, until
/// that calls unwatch(). `target` is the actor at `watched`, held by the caller, or null if it has
/// terminated. Throws std::bad_alloc.
monitor watch_it(control_block& watcher, const address& watched, control_block* target,
                 end_waiter* handler = nullptr);

/// In the watcher's turn: whether the other actor has terminated and its `down` has not been
/// handled yet.
[[nodiscard]] bool is_on_its_way(const monitor& which) noexcept;

/// False if it had already ended. Throws std::logic_error if it belongs to another actor.
bool unwatch(control_block& watcher, const monitor& which);

/// Ends all watches of an actor whose object is gone: it is not notified of anything any more.
void end_watches(side_block& of) noexcept;

/// Unwatches everything for an actor whose object is gone while the actor stays: no `down` will be
/// handled.
void unwatch_all(side_block& of) noexcept;

/// Sends it to its watcher, or frees it if the watcher has terminated.
void send_down(watch& one, const end_cause& why) noexcept;

}  // namespace troupe::detail
