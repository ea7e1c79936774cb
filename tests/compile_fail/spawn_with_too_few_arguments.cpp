// SPDX-License-Identifier: Apache-2.0
// As for arguments of the wrong type, the error names the actor.
// expect-error: actor_is_not_constructible_from
// expect-error: account
#include <troupe/troupe.hpp>

class account : public troupe::actor {
 public:
  account(long cents, long limit) : cents_(cents), limit_(limit) {}
  void on(long more) { cents_ = cents_ + more < limit_ ? cents_ + more : limit_; }

 private:
  long cents_;
  long limit_;
};

void use(troupe::system& system) {
  system.spawn<account>(100, 200).send(1L);
#ifdef MUST_NOT_COMPILE
  const auto none = system.spawn<account>(100);
  none.send(1L);
#endif
}
