// SPDX-License-Identifier: Apache-2.0
// An exclusive handler cannot be part of another handler, which can only await a task.
// expect-error: handlers_cannot_await<.*exclusive_task
#include <troupe/troupe.hpp>

troupe::task<> part() { co_return; }
troupe::exclusive_task<> alone() { co_return; }

troupe::task<> use() {
  co_await part();
#ifdef MUST_NOT_COMPILE
  co_await alone();
#endif
}
