// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/actor/task.hpp>

namespace troupe::detail {

struct side_block;

// All of these in the turn of the handlers' actor.

/// Those go on that were held up by an exclusive handler, if it is over. Throws what leaves them.
void resume_held_up();

/// Destroys all handlers that wait.
void destroy_handlers(side_block& of) noexcept;

}  // namespace troupe::detail
