// SPDX-License-Identifier: Apache-2.0
// Only a handler can wait for a channel in this way. Another kind of coroutine has no turn in which
// it could resume.
// expect-error: next_value<int>
#include <coroutine>
#include <troupe/troupe.hpp>

struct other {
  struct promise_type {
    other get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};

troupe::task<> allowed(troupe::channel<int> in) { (void)co_await in.next(); }

other use(troupe::channel<int> in) {
  (void)in.try_receive();
#ifdef MUST_NOT_COMPILE
  (void)co_await in.next();
#endif
  co_return;
}
