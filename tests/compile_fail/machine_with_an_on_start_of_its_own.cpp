// SPDX-License-Identifier: Apache-2.0
// on_start() belongs to the machine: it enters the initial state.
// expect-error: machine_starts_by_itself
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
  using states = troupe::states<closed, open>;
  using messages = troupe::messages<push>;
  to<open> on(closed, push) { return {}; }
#ifdef MUST_NOT_COMPILE
  void on_start() {}
#endif
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
