// SPDX-License-Identifier: Apache-2.0
#pragma once

// As for atomics, tests/model has a header of this name that defines it as another type.

namespace troupe {
inline namespace native {

/// A plain field that one thread at a time uses, as determined by other variables. The model
/// checker checks each access: concurrent accesses by two threads are a data race, and so are two
/// accesses of which neither thread has seen that the other was done.
template <class T>
using watched = T;

}  // namespace native
}  // namespace troupe
