// SPDX-License-Identifier: Apache-2.0
// The actor has no on() for this message.
// expect-error: actor_does_not_understand_message
// expect-error: reader
// expect-error: double
#include <troupe/troupe.hpp>

class reader : public troupe::actor {
 public:
  void on(int) {}
};

class writer : public troupe::actor {
 public:
  troupe::task<> on(int n) {
    (void)co_await to_.async_send(n);
#ifdef MUST_NOT_COMPILE
    (void)co_await to_.async_send(0.5);
#endif
  }

 private:
  troupe::ref<reader> to_;
};
