// SPDX-License-Identifier: Apache-2.0
// child() takes the arguments of the actor's constructor. The error names the actor and the
// arguments.
// expect-error: actor_is_not_constructible_from
// expect-error: account
// expect-error: owner
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

struct owner {};

struct account : troupe::actor {
  explicit account(long cents) : cents_(cents) {}
  void on(long more) { cents_ += more; }

 private:
  long cents_;
};

void use() {
  (void)troupe::child<account>("alice", 100L);
#ifdef MUST_NOT_COMPILE
  (void)troupe::child<account>("bob", owner{});
#endif
}
