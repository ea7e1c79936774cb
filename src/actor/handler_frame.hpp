// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/actor/task.hpp>

namespace troupe::detail {

struct side_block;

/// Lets a handler go on that has waited. In its actor's turn. Throws what leaves it.
void resume_handler(handler_frame& frame);

/// Destroys all handlers that wait. In their actor's turn.
void destroy_handlers(side_block& of) noexcept;

}  // namespace troupe::detail
