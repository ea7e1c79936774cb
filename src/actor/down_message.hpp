// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/events.hpp>

// A watch and the `down` that answers it are one envelope: it is made when the watcher asks,
// travels to the watched actor, waits there, and comes back. So nothing has to be allocated when an
// actor ends.

namespace troupe::detail {

/// Asks the actor at `watched` on behalf of `watcher`, whose class takes `down`s as `on_down` says.
/// `target` is that actor, held by the caller, or null if it has ended. Throws std::bad_alloc.
void watch(control_block& watcher, const dispatch& on_down, const address& watched,
           control_block* target);

[[nodiscard]] bool is_watch(const envelope& message) noexcept;

/// Sends a watch back to its watcher; if that has ended, frees it.
void send_down(envelope& watch, exit_reason reason, const std::string& what,
               std::size_t unhandled) noexcept;

}  // namespace troupe::detail
