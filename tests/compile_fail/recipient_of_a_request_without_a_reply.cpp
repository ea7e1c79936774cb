// SPDX-License-Identifier: Apache-2.0
// A message whose handler returns nothing cannot be a request in the list of a recipient.
// expect-error: asked_handler_returns_nothing
// expect-error: account
// expect-error: deposit
#include <troupe/troupe.hpp>

struct deposit {};

class account : public troupe::actor {
 public:
  void on(deposit) {}
};

void use(const troupe::ref<account>& alice) {
  const troupe::recipient<deposit> fine = alice;
#ifdef MUST_NOT_COMPILE
  const troupe::recipient<bool(deposit)> wrong = alice;
#endif
}
