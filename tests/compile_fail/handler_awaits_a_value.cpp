// SPDX-License-Identifier: Apache-2.0
// A value that is there already is not awaited: as with the result of a function that waits in a thread.
// expect-error: handlers_cannot_await<.*received<int>
#include <troupe/troupe.hpp>

troupe::task<> use(troupe::channel<int> in) {
  auto got = co_await in.next();
#ifdef MUST_NOT_COMPILE
  auto none = co_await in.receive();
  if (none) got = none;
#endif
}
