// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/actor/conductor.hpp>

namespace troupe::detail {

/// Set in a child of fork() whose parent had a system with threads. The child has none of them, and
/// a mutex that one of them held stays locked. Not atomic: it is written while the child has only
/// one thread.
inline constinit bool threads_are_lost = false;

/// True if a mutex that systems, channels or topics share may stay locked forever. Not within a
/// simulation: it has no threads.
[[nodiscard]] inline bool is_forked_child() noexcept {
  return threads_are_lost && conductor::here() == nullptr;
}

/// Throws std::logic_error in such a child; `what`: what cannot be done there.
void check_not_forked(const char* what);

}  // namespace troupe::detail
