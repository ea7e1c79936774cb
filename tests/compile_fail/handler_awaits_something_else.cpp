// SPDX-License-Identifier: Apache-2.0
// A handler cannot await an operation that does not resume in a turn of the actor.
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
