// SPDX-License-Identifier: Apache-2.0
// An actor can be sent only messages for which it has a handler. The error names both types.
// expect-error: account
// expect-error: withdraw
#include <troupe/troupe.hpp>

struct deposit {
  long cents;
};
struct withdraw {
  long cents;
};

class account : public troupe::actor {
 public:
  void on(deposit) {}
};

void use(const troupe::ref<account>& alice) {
  alice.send(deposit{100});
#ifdef MUST_NOT_COMPILE
  alice.send(withdraw{100});
#endif
}
