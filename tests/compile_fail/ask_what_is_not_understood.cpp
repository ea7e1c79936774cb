// SPDX-License-Identifier: Apache-2.0
// An actor can be asked only with a message for which it has a handler. The error names both types.
// expect-error: actor_does_not_understand_message
// expect-error: account
// expect-error: withdraw
#include <chrono>
#include <troupe/troupe.hpp>

struct deposit {
  long cents;
};
struct withdraw {
  long cents;
};

class account : public troupe::actor {
 public:
  long on(deposit d) { return d.cents; }
};

troupe::task<> use(troupe::ref<account> alice) {
  auto got = co_await alice.ask<deposit>(std::chrono::seconds(1), 100);
#ifdef MUST_NOT_COMPILE
  auto none = co_await alice.ask<withdraw>(std::chrono::seconds(1), 100);
  if (none) got = none;
#endif
}
