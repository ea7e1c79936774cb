// SPDX-License-Identifier: Apache-2.0
// A handler that is a coroutine outlives the turn of its message, so it takes the message by value.
// expect-error: coroutine_handler_must_take_its_parameters_by_value
// expect-error: keeper
// expect-error: parcel
#include <troupe/troupe.hpp>

struct parcel {};
struct value {};

class keeper : public troupe::actor {
 public:
  troupe::task<> on(value) { co_return; }
  troupe::task<> on(const parcel&) { co_return; }
};

void use(const troupe::ref<keeper>& to) {
  to.send(value{});
#ifdef MUST_NOT_COMPILE
  to.send(parcel{});
#endif
}
