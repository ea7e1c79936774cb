// SPDX-License-Identifier: Apache-2.0
// If a class declares that its full mailbox refuses messages, the result of a send must be checked.
// expect-error: check the returned delivery
#include <troupe/troupe.hpp>

#pragma GCC diagnostic error "-Wunused-result"

struct reading {};

struct gauge : troupe::actor {
  static constexpr auto on_full = troupe::overflow_policy::refuse;
  void on(reading) {}
};

struct patient : troupe::actor {
  void on(reading) {}
};

struct limited : troupe::actor {
  using message_limits = troupe::message_limits<troupe::at_most<reading, 1>>;
  void on(reading) {}
};

bool use(const troupe::ref<gauge>& one, const troupe::ref<limited>& other,
         const troupe::ref<patient>& third) {
  third.send(reading{});
  return one.send(reading{}) == troupe::delivery::accepted &&
         other.send(reading{}) == troupe::delivery::accepted;
}

#ifdef MUST_NOT_COMPILE
void forget(const troupe::ref<gauge>& one) { one.send(reading{}); }
#endif
