// SPDX-License-Identifier: Apache-2.0
// An actor cannot be asked with a message whose handler returns nothing; it can only be sent.
// expect-error: asked_handler_returns_nothing
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
  void on(withdraw) {}
};

long use(const troupe::ref<account>& alice) {
  const auto got = alice.ask(std::chrono::seconds(1), deposit{100}).get();
  alice.send(withdraw{100});
#ifdef MUST_NOT_COMPILE
  const auto none = alice.ask(std::chrono::seconds(1), withdraw{100}).get();
  return *none;
#else
  return *got;
#endif
}
