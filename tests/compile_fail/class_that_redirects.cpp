// SPDX-License-Identifier: Apache-2.0
// The target of a redirection is an actor, which a class alone cannot name.
// expect-error: on_full of an actor class must be
#include <troupe/troupe.hpp>

struct reading {};

struct gauge : troupe::actor {
#ifdef MUST_NOT_COMPILE
  static constexpr auto on_full = troupe::overflow_policy::redirect;
#else
  static constexpr auto on_full = troupe::overflow_policy::drop_newest;
#endif
  void on(reading) {}
};

troupe::delivery use(const troupe::ref<gauge>& one) { return one.send(reading{}); }
