// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/actor/task.hpp>

namespace troupe::detail {

struct side_block;

// All of these are called in the turn of the handlers' actor.

/// Resumes the handlers that an exclusive handler held up, if that one has finished. Rethrows their
/// exceptions.
void resume_held_up();

/// Calls the pending callbacks of ask_future::then(), in the order in which they were made, because
/// their actor stops. Rethrows what a callback throws; the remaining ones stay pending.
void tell_callbacks_of_end(side_block& of);

/// Destroys all suspended handlers.
void destroy_handlers(side_block& of) noexcept;

}  // namespace troupe::detail
