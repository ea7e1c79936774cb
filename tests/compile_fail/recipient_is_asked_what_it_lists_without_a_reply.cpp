// SPDX-License-Identifier: Apache-2.0
// A recipient can be asked only with a message that it lists with the type of its reply.
// expect-error: recipient_lists_no_reply
// expect-error: balance
#include <chrono>
#include <troupe/troupe.hpp>

struct balance {};

long use(const troupe::recipient<balance, long(balance)>& fine,
         const troupe::recipient<balance>& wrong) {
  const auto got = fine.ask<balance>(std::chrono::seconds(1)).get();
#ifdef MUST_NOT_COMPILE
  const auto none = wrong.ask<balance>(std::chrono::seconds(1)).get();
  return *none;
#else
  (void)wrong;
  return *got;
#endif
}
