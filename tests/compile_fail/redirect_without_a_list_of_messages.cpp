// SPDX-License-Identifier: Apache-2.0
// A class whose messages are redirected to another class has to list the messages that it
// understands.
// expect-error: A must list its message types
#include <troupe/troupe.hpp>

struct deposit {};

struct account : troupe::actor {
  void on(deposit) {}
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
