// SPDX-License-Identifier: Apache-2.0
// A handler of a derived class hides those of its base class, unless there is a using-declaration.
// expect-error: savings
// expect-error: deposit
#include <troupe/troupe.hpp>

struct deposit {};
struct interest {};

class account : public troupe::actor {
 public:
  void on(deposit) {}
};
class savings : public account {
 public:
  void on(interest) {}
};

void use(const troupe::ref<account>& alice, const troupe::ref<savings>& bob) {
  alice.send(deposit{});
  bob.send(interest{});
#ifdef MUST_NOT_COMPILE
  bob.send(deposit{});
#endif
}
