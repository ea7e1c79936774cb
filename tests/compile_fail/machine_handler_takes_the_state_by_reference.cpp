// SPDX-License-Identifier: Apache-2.0
// A handler takes the state by value.
// expect-error: handler_must_take_the_state_by_value
// expect-error: door
// expect-error: open
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
  using states = troupe::states<closed, open>;
  using messages = troupe::messages<push>;
  to<open> on(closed, push) { return {}; }
#ifdef MUST_NOT_COMPILE
  to<closed> on(const open&, push) { return {}; }
#endif
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
