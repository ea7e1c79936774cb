// SPDX-License-Identifier: Apache-2.0
// The target of a transition is a state of the machine's list.
// expect-error: state_is_not_listed
// expect-error: door
// expect-error: locked
#include <chrono>
#include <troupe/troupe.hpp>
#include <utility>

struct push {};
struct count {};

class door : public troupe::state_machine<door> {
 public:
  struct closed : state {};
  struct open : state {};
  struct locked : state {};
#ifdef MUST_NOT_COMPILE
  using states = troupe::states<closed, open>;
#else
  using states = troupe::states<closed, open, locked>;
#endif
  using messages = troupe::messages<push>;
  to<open> on(closed, push) { return {}; }
  to<locked> on(open, push) { return {}; }
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
