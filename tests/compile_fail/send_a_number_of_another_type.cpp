// SPDX-License-Identifier: Apache-2.0
// Types must match exactly: a float is not passed to on(long).
// expect-error: account
// expect-error: float
#include <troupe/troupe.hpp>

class account : public troupe::actor {
 public:
  void on(long) {}
};

void use(const troupe::ref<account>& alice) {
  alice.send(100L);
#ifdef MUST_NOT_COMPILE
  alice.send(1.5f);
#endif
}
