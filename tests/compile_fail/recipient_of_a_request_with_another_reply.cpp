// SPDX-License-Identifier: Apache-2.0
// The handler of a request in the list of a recipient replies with exactly the listed type.
// expect-error: reply_type_does_not_fit
// expect-error: account
// expect-error: balance
#include <troupe/troupe.hpp>

struct balance {};

class account : public troupe::actor {
 public:
  long on(balance) { return 0; }
};

void use(const troupe::ref<account>& alice) {
  const troupe::recipient<long(balance)> fine = alice;
#ifdef MUST_NOT_COMPILE
  const troupe::recipient<int(balance)> wrong = alice;
#endif
}
