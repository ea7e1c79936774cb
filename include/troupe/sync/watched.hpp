// SPDX-License-Identifier: Apache-2.0
#pragma once

// As with atomics, tests/model has a header of this name in which it is another type.

namespace troupe {
inline namespace native {

/// A plain field that one thread at a time uses, as other words say which one. The model checker looks at
/// each access: two threads that meet there are a data race, and so are two of which neither has seen that
/// the other was done.
template <class T>
using watched = T;

}  // namespace native
}  // namespace troupe
