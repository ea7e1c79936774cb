// SPDX-License-Identifier: Apache-2.0
// An actor that lists its messages accepts no others.
// expect-error: account
// expect-error: deposit
#include <troupe/troupe.hpp>

struct deposit {};
struct withdraw {};

struct account : troupe::actor {
  using messages = troupe::messages<withdraw>;
  void on(deposit) {}
  void on(withdraw) {}
};

void use(const troupe::ref<account>& alice) {
  alice.send(withdraw{});
#ifdef MUST_NOT_COMPILE
  alice.send(deposit{});
#endif
}
