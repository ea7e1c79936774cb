// SPDX-License-Identifier: Apache-2.0
// A state either handles a message or defers it.
// expect-error: message_is_both_handled_and_deferred
// expect-error: door
// expect-error: ajar
// expect-error: push
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
    using defers = troupe::messages<push>;
#endif
  };
  using states = troupe::states<closed, open, ajar>;
  using messages = troupe::messages<push>;
  to<open> on(closed, push) { return {}; }
  to<open> on(ajar, push) { return {}; }
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
