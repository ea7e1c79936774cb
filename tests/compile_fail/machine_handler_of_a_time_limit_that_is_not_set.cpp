// SPDX-License-Identifier: Apache-2.0
// The handler of a time limit needs its duration.
// expect-error: time_limit_has_no_duration
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
  to<closed> on(open, time_limit) { return {}; }
#endif
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
