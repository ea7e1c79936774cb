// SPDX-License-Identifier: Apache-2.0
// A handler must be public.
// expect-error: account
// expect-error: deposit
#include <troupe/troupe.hpp>

struct deposit {};
struct withdraw {};

class account : public troupe::actor {
 public:
  void on(withdraw) {}

 private:
  void on(deposit) {}
};

void use(const troupe::ref<account>& alice) {
  alice.send(withdraw{});
#ifdef MUST_NOT_COMPILE
  alice.send(deposit{});
#endif
}
