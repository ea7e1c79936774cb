// SPDX-License-Identifier: Apache-2.0
// A task is awaited once, so it has to be moved: co_await std::move(named).
// expect-error: handlers_cannot_await<.*task<int>
#include <troupe/troupe.hpp>
#include <utility>

troupe::task<int> part() { co_return 1; }

troupe::task<int> use() {
  auto named = part();
#ifdef MUST_NOT_COMPILE
  co_return co_await named;
#else
  co_return co_await std::move(named);
#endif
}
