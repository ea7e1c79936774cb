// SPDX-License-Identifier: Apache-2.0
// A value that already exists cannot be awaited, such as the result of a function that blocks the
// thread.
// expect-error: handlers_cannot_await<.*received<int>
#include <troupe/troupe.hpp>

troupe::task<> use(troupe::channel<int> in) {
  auto got = co_await in.next();
#ifdef MUST_NOT_COMPILE
  auto none = co_await in.receive();
  if (none) got = none;
#endif
}
