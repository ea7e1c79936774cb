// SPDX-License-Identifier: Apache-2.0
// A timer can send only messages that its receiver understands.
// expect-error: account
// expect-error: withdraw
#include <chrono>
#include <troupe/troupe.hpp>

struct deposit {};
struct withdraw {};

class account : public troupe::actor {
 public:
  void on(deposit) {}
};

void use(const troupe::ref<account>& alice) {
  alice.send_after(std::chrono::seconds{1}, deposit{});
#ifdef MUST_NOT_COMPILE
  alice.send_after(std::chrono::seconds{1}, withdraw{});
#endif
}
