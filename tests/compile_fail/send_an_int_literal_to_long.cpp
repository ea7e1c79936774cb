// SPDX-License-Identifier: Apache-2.0
// An int literal is not a long.
// expect-error: account
// expect-error: \bint\b
#include <troupe/troupe.hpp>

class account : public troupe::actor {
 public:
  void on(long) {}
  void on(const double&, troupe::address) {}
};

void use(const troupe::ref<account>& alice) {
  alice.send(1L);
#ifdef MUST_NOT_COMPILE
  alice.send(1);
#endif
}
