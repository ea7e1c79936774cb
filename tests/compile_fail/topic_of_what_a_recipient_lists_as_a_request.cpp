// SPDX-License-Identifier: Apache-2.0
// A recipient that lists a message only as a request cannot subscribe to a topic of it.
// expect-error: recipient_lists_only_the_request
// expect-error: balance
#include <troupe/troupe.hpp>

struct balance {};

void use(const troupe::topic<balance>& of, const troupe::recipient<balance>& fine,
         const troupe::recipient<long(balance)>& wrong) {
  (void)of.subscribe(fine);
#ifdef MUST_NOT_COMPILE
  (void)of.subscribe(wrong);
#else
  (void)wrong;
#endif
}
