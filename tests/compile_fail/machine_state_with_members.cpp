// SPDX-License-Identifier: Apache-2.0
// A state is an empty class. Its data belongs to the machine.
// expect-error: state_must_be_an_empty_class_derived_from_state
// expect-error: door
// expect-error: ajar
#include <chrono>
#include <troupe/troupe.hpp>
#include <utility>

struct push {};
struct count {};

class door : public troupe::state_machine<door> {
 public:
  struct closed : state {};
  struct open : state {};
  struct ajar : state {
#ifdef MUST_NOT_COMPILE
    int degrees = 0;
#endif
  };
  using states = troupe::states<closed, open, ajar>;
  using messages = troupe::messages<push>;
  to<open> on(closed, push) { return {}; }
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
