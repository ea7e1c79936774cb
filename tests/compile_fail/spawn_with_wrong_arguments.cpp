// SPDX-License-Identifier: Apache-2.0
// spawn() takes the arguments of the actor's constructor. The error names the actor and the
// arguments.
// expect-error: account
// expect-error: owner
#include <troupe/troupe.hpp>

struct owner {};

class account : public troupe::actor {
 public:
  explicit account(long cents) : cents_(cents) {}
  void on(long more) { cents_ += more; }

 private:
  long cents_;
};

void use(troupe::system& system) {
  system.spawn<account>(100L).send(1L);
#ifdef MUST_NOT_COMPILE
  system.spawn<account>(owner{});
#endif
}
