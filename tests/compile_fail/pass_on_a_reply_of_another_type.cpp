// SPDX-License-Identifier: Apache-2.0
// A request can be forwarded only to a handler with a suitable reply type. The error names the
// actor, the message and the owed reply type.
// expect-error: reply_type_does_not_fit
// expect-error: account
// expect-error: deposit
// expect-error: int
#include <troupe/troupe.hpp>
#include <utility>

struct deposit {
  long cents;
};

class account : public troupe::actor {
 public:
  long on(deposit d) { return d.cents; }
};

void use(const troupe::ref<account>& alice, troupe::reply<long> fits, troupe::reply<int> owed) {
  alice.pass_on<deposit>(std::move(fits), 1);
#ifdef MUST_NOT_COMPILE
  alice.pass_on<deposit>(std::move(owed), 1);
#endif
}
