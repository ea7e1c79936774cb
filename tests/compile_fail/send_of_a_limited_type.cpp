// SPDX-License-Identifier: Apache-2.0
// If a class limits the number of waiting messages of a type, the result of a send must be checked.
// expect-error: check the returned delivery
#include <troupe/troupe.hpp>

#pragma GCC diagnostic error "-Wunused-result"

struct reading {};
struct other {};

struct gauge : troupe::actor {
  using message_limits = troupe::message_limits<troupe::at_most<reading, 1>>;
  void on(reading) {}
  void on(other) {}
};

void use(const troupe::ref<gauge>& one) { one.send(other{}); }

#ifdef MUST_NOT_COMPILE
void forget(const troupe::ref<gauge>& one) { one.send(reading{}); }
#endif
