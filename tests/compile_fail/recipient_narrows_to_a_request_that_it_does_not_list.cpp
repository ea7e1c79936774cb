// SPDX-License-Identifier: Apache-2.0
// A recipient of a message says nothing about its reply, and cannot become one that does.
// expect-error: actor_does_not_understand_message
// expect-error: balance
#include <troupe/troupe.hpp>

struct balance {};
struct deposit {};

void use(const troupe::recipient<deposit, long(balance)>& bank,
         const troupe::recipient<deposit, balance>& other) {
  const troupe::recipient<long(balance)> fine = bank;
#ifdef MUST_NOT_COMPILE
  const troupe::recipient<long(balance)> wrong = other;
#else
  (void)other;
#endif
}
