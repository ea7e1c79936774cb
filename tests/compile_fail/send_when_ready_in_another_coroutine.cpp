// SPDX-License-Identifier: Apache-2.0
// Only a handler can wait. Another kind of coroutine has no turn in which it could resume.
// expect-error: sending
#include <coroutine>
#include <troupe/troupe.hpp>

class reader : public troupe::actor {
 public:
  void on(int) {}
};

struct other {
  struct promise_type {
    other get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};

other use(const troupe::ref<reader>& to) {
  (void)to.async_send(1);
#ifdef MUST_NOT_COMPILE
  (void)co_await to.async_send(1);
#endif
  co_return;
}
