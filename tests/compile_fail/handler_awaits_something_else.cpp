// SPDX-License-Identifier: Apache-2.0
// What does not go on in a turn of the actor cannot be awaited by a handler.
// expect-error: handlers_cannot_await
// expect-error: suspend_always
#include <troupe/troupe.hpp>

struct parcel {};

class keeper : public troupe::actor {
 public:
  troupe::task<> on(parcel) {
#ifdef MUST_NOT_COMPILE
    co_await std::suspend_always{};
#endif
    co_return;
  }
};
