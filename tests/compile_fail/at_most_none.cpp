// SPDX-License-Identifier: Apache-2.0
// A limit of zero messages would make the handler pointless.
// expect-error: would refuse every M
#include <troupe/troupe.hpp>

struct reading {};

struct gauge : troupe::actor {
  using message_limits = troupe::message_limits<troupe::at_most<reading, 1>>;
  void on(reading) {}
};

void use(const troupe::ref<gauge>& one) { one.send(reading{}); }

#ifdef MUST_NOT_COMPILE
template struct troupe::at_most<reading, 0>;
#endif
