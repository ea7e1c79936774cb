// SPDX-License-Identifier: Apache-2.0
// The batch is destroyed when its handler returns, but a coroutine would continue.
// expect-error: batch_handler_must_return_void
// expect-error: gauge
// expect-error: reading
#include <span>
#include <troupe/troupe.hpp>

struct reading {};
struct value {};

class gauge : public troupe::actor {
 public:
  troupe::task<> on(value) { co_return; }
  troupe::task<> on(std::span<reading>) { co_return; }
};

void use(const troupe::ref<gauge>& to) {
  to.send(value{});
#ifdef MUST_NOT_COMPILE
  to.send(reading{});
#endif
}
