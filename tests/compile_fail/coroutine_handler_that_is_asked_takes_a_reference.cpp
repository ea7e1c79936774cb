// SPDX-License-Identifier: Apache-2.0
// As for a message that is sent: one error, not one for each way of calling the handler.
// expect-error: coroutine_handler_must_take_its_parameters_by_value
// expect-error: keeper
// expect-error: parcel
#include <chrono>
#include <troupe/troupe.hpp>

struct parcel {};
struct value {};

class keeper : public troupe::actor {
 public:
  troupe::task<int> on(value) { co_return 1; }
  troupe::task<int> on(const parcel&) { co_return 2; }
};

void use(const troupe::ref<keeper>& to) {
  (void)to.ask<value>(std::chrono::seconds(1)).get();
#ifdef MUST_NOT_COMPILE
  (void)to.ask<parcel>(std::chrono::seconds(1)).get();
#endif
}
