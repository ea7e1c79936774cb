// SPDX-License-Identifier: Apache-2.0
// The address of the sender is destroyed with the message, so a coroutine takes it by value too.
// expect-error: coroutine_handler_must_take_its_parameters_by_value
// expect-error: parcel
#include <troupe/troupe.hpp>

struct parcel {};
struct value {};

class keeper : public troupe::actor {
 public:
  troupe::task<> on(value, troupe::address) { co_return; }
  troupe::task<> on(parcel, const troupe::address&) { co_return; }
};

void use(const troupe::ref<keeper>& to) {
  to.send(value{});
#ifdef MUST_NOT_COMPILE
  to.send(parcel{});
#endif
}
