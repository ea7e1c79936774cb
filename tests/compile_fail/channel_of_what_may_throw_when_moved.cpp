// SPDX-License-Identifier: Apache-2.0
// A value is moved under a lock between two threads, and an exception could be reported to neither.
// expect-error: channel_values_must_move_without_throwing<fragile>
#include <troupe/troupe.hpp>

struct fragile {
  fragile() = default;
  fragile(fragile&&) noexcept(false) {}
};
struct sturdy {};

void use(const troupe::channel<sturdy>& c) { c.send(sturdy{}); }

#ifdef MUST_NOT_COMPILE
void wrong() { troupe::channel<fragile> c(1); }
#else
void right() { troupe::channel<sturdy> c(1); }
#endif
