// SPDX-License-Identifier: Apache-2.0
// An address identifies an actor, but not the messages that it understands.
// expect-error: address
// expect-error: send
#include <troupe/troupe.hpp>

void use(const troupe::address& somebody, const troupe::recipient<int>& alice) {
  alice.send(1);
  (void)to_string(somebody);
#ifdef MUST_NOT_COMPILE
  somebody.send(1);
#endif
}
