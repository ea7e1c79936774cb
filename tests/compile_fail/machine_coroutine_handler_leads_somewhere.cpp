// SPDX-License-Identifier: Apache-2.0
// A handler that is a coroutine cannot change the state.
// expect-error: coroutine_handler_cannot_lead_to_another_state
// expect-error: door
// expect-error: closed
// expect-error: push
#include <troupe/troupe.hpp>
#include <utility>

struct push {};

class door : public troupe::state_machine<door> {
 public:
  struct closed : state {};
  struct open : state {};
  using states = troupe::states<closed, open>;
  using messages = troupe::messages<push>;
#ifdef MUST_NOT_COMPILE
  troupe::task<to<open>> on(closed, push);
#else
  to<open> on(closed, push) { return {}; }
#endif
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
