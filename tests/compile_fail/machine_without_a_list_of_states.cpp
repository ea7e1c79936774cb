// SPDX-License-Identifier: Apache-2.0
// A machine lists its states and its messages.
// expect-error: machine_needs_a_list_of_states_and_one_of_messages
// expect-error: door
#include <chrono>
#include <troupe/troupe.hpp>
#include <utility>

struct push {};
struct count {};

class door : public troupe::state_machine<door> {
 public:
  struct closed : state {};
  struct open : state {};
#ifndef MUST_NOT_COMPILE
  using states = troupe::states<closed, open>;
#endif
  using messages = troupe::messages<push>;
  to<open> on(closed, push) { return {}; }
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
