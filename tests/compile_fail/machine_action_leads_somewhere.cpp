// SPDX-License-Identifier: Apache-2.0
// An entry action cannot change the state.
// expect-error: action_must_return_nothing
// expect-error: door
// expect-error: open
#include <chrono>
#include <troupe/troupe.hpp>
#include <utility>

struct push {};
struct count {};

class door : public troupe::state_machine<door> {
 public:
  struct closed : state {};
  struct open : state {};
  using states = troupe::states<closed, open>;
  using messages = troupe::messages<push>;
  to<open> on(closed, push) { return {}; }
#ifdef MUST_NOT_COMPILE
  to<closed> on_enter(open) { return {}; }
#endif
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
