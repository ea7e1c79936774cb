// SPDX-License-Identifier: Apache-2.0
// The target of a redirection understands every message that the original actor understands.
// expect-error: the redirection target must understand every message type of the actor
#include <troupe/troupe.hpp>

struct deposit {};
struct withdraw {};

struct account : troupe::actor {
  using messages = troupe::messages<deposit, withdraw>;
  void on(deposit) {}
  void on(withdraw) {}
};
struct savings : troupe::actor {
  void on(deposit) {}
};

void use(const troupe::ref<account>& alice, const troupe::ref<savings>& bob) {
  (void)troupe::overflow::redirect_to(alice);
#ifdef MUST_NOT_COMPILE
  (void)troupe::overflow::redirect_to<account>(bob);
#else
  (void)bob;
#endif
}
