// SPDX-License-Identifier: Apache-2.0
// Each message of a machine's list is handled in at least one state.
// expect-error: message_is_handled_in_no_state
// expect-error: door
// expect-error: count
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
#ifdef MUST_NOT_COMPILE
  using messages = troupe::messages<push, count>;
#else
  using messages = troupe::messages<push>;
#endif
  to<open> on(closed, push) { return {}; }
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
