// SPDX-License-Identifier: Apache-2.0
// end_of() takes a ref or an address.
// expect-error: end_of
#include <troupe/troupe.hpp>

class account : public troupe::actor {
 public:
  void on(long) {}
};

troupe::task<> use(troupe::ref<account> alice, troupe::address somebody) {
  (void)co_await end_of(alice);
  (void)co_await end_of(somebody);
#ifdef MUST_NOT_COMPILE
  (void)co_await troupe::end_of(5);
#endif
}
