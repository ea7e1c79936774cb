// SPDX-License-Identifier: Apache-2.0
// A recipient accepts only the messages that it names, even if its actor understands others.
// expect-error: recipient<deposit>
// expect-error: withdraw
#include <troupe/troupe.hpp>

struct deposit {};
struct withdraw {};

class account : public troupe::actor {
 public:
  void on(deposit) {}
  void on(withdraw) {}
};

void use(const troupe::recipient<deposit>& alice) {
  alice.send(deposit{});
#ifdef MUST_NOT_COMPILE
  alice.send(withdraw{});
#endif
}
