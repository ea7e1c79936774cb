// SPDX-License-Identifier: Apache-2.0
// Only a state with child states has a history.
// expect-error: history_of_a_state_without_children
// expect-error: door
// expect-error: closed
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
  to<history<closed>> on(open, push) { return {}; }
#endif
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
