// SPDX-License-Identifier: Apache-2.0
// Each message of a batch has a sender of its own.
// expect-error: batch_handler_cannot_be_told_the_sender
// expect-error: gauge
// expect-error: reading
#include <span>
#include <troupe/troupe.hpp>

struct reading {};
struct value {};

class gauge : public troupe::actor {
 public:
  void on(value, troupe::address) {}
  void on(std::span<reading>, troupe::address) {}
};

void use(const troupe::ref<gauge>& to) {
  to.send(value{});
#ifdef MUST_NOT_COMPILE
  to.send(reading{});
#endif
}
