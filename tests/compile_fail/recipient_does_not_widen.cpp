// SPDX-License-Identifier: Apache-2.0
// A recipient of some messages does not convert to a recipient of more messages.
// expect-error: recipient<deposit>
// expect-error: withdraw
#include <troupe/troupe.hpp>

struct deposit {};
struct withdraw {};

void use(const troupe::recipient<deposit, withdraw>& wide) {
  const troupe::recipient<deposit> narrow = wide;
  narrow.send(deposit{});
#ifdef MUST_NOT_COMPILE
  const troupe::recipient<deposit, withdraw> again = narrow;
#endif
}
