// SPDX-License-Identifier: Apache-2.0
// self(this) can send only messages that the actor understands.
// expect-error: account
// expect-error: withdraw
#include <troupe/troupe.hpp>

struct deposit {};
struct withdraw {};

class account : public troupe::actor {
 public:
  void on(deposit) {
#ifdef MUST_NOT_COMPILE
    self(this).send(withdraw{});
#endif
    self(this).stop();
  }
};

void use(const troupe::ref<account>& alice) { alice.send(deposit{}); }
