// SPDX-License-Identifier: Apache-2.0
// What is redirected to another class comes from one that lists what it understands.
// expect-error: list what A understands
#include <troupe/troupe.hpp>

struct deposit {};

struct account : troupe::actor {
  void on(deposit) {}
};
struct savings : troupe::actor {
  void on(deposit) {}
};

void use(const troupe::ref<account>& alice, const troupe::ref<savings>& bob) {
  (void)troupe::overload::redirect_to(alice);
#ifdef MUST_NOT_COMPILE
  (void)troupe::overload::redirect_to<account>(bob);
#else
  (void)bob;
#endif
}
