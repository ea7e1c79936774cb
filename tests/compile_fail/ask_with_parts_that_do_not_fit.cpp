// SPDX-License-Identifier: Apache-2.0
// A message is built from the arguments of its constructor, or from its members. The error names
// all types.
// expect-error: message_cannot_be_built_from
// expect-error: deposit
// expect-error: char
#include <chrono>
#include <troupe/troupe.hpp>

struct deposit {
  long cents;
};

class account : public troupe::actor {
 public:
  long on(deposit d) { return d.cents; }
};

void use(const troupe::ref<account>& alice) {
  (void)alice.ask<deposit>(std::chrono::seconds(1), 100).get();
#ifdef MUST_NOT_COMPILE
  (void)alice.ask<deposit>(std::chrono::seconds(1), "much").get();
#endif
}
