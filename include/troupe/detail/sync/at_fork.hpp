// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {
inline namespace native {

/// Registers functions for every later fork(): it first calls `before`, and afterwards `in_parent`
/// or `in_child`, on the forking thread. They cannot be unregistered.
///
/// Errors: std::bad_alloc.
void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)());

}  // namespace native
}  // namespace troupe
