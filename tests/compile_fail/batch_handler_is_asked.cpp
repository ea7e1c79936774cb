// SPDX-License-Identifier: Apache-2.0
// Each request of a batch needs its own reply, but a batch handler has only one result for all.
// expect-error: batch_handler_answers_no_question
// expect-error: gauge
// expect-error: reading
#include <span>
#include <troupe/troupe.hpp>

struct reading {};

class gauge : public troupe::actor {
 public:
  void on(std::span<reading>) {}
};

void use(const troupe::ref<gauge>& to) {
  to.send(reading{});
#ifdef MUST_NOT_COMPILE
  to.ask<reading>(troupe::no_timeout);
#endif
}
