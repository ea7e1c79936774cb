// SPDX-License-Identifier: Apache-2.0
// A message that is redelivered after a restart is copied beforehand. The error names the actor and
// the message.
// expect-error: cannot_be_redelivered
// expect-error: account
// expect-error: deposit
#include <memory>
#include <troupe/troupe.hpp>

struct withdraw {
  long cents;
};
struct deposit {
  std::unique_ptr<long> cents;
};

struct account : troupe::actor {
#ifdef MUST_NOT_COMPILE
  using redelivered = troupe::messages<withdraw, deposit>;
#else
  using redelivered = troupe::messages<withdraw>;
#endif
  void on(withdraw m) { cents_ -= m.cents; }
  void on(const deposit& m) { cents_ += *m.cents; }

 private:
  long cents_ = 0;
};

void use(const troupe::ref<account>& alice) {
  alice.send(withdraw{1});
  alice.send(deposit{});
}
