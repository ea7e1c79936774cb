// SPDX-License-Identifier: Apache-2.0
// A message that a recipient lists only as a request cannot be sent without a request.
// expect-error: recipient_lists_only_the_request
// expect-error: balance
#include <troupe/troupe.hpp>

struct balance {};

void use(const troupe::recipient<balance, long(balance)>& fine,
         const troupe::recipient<long(balance)>& wrong) {
  fine.send(balance{});
#ifdef MUST_NOT_COMPILE
  wrong.send(balance{});
#else
  (void)wrong;
#endif
}
