// SPDX-License-Identifier: Apache-2.0
// A recipient can be created only from an actor that understands all of its messages.
// expect-error: account
// expect-error: withdraw
#include <troupe/troupe.hpp>

struct deposit {};
struct withdraw {};

class account : public troupe::actor {
 public:
  void on(deposit) {}
};

void use(const troupe::ref<account>& alice) {
  const troupe::recipient<deposit> fine = alice;
  fine.send(deposit{});
#ifdef MUST_NOT_COMPILE
  const troupe::recipient<deposit, withdraw> wrong = alice;
#endif
}
