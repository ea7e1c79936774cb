// SPDX-License-Identifier: Apache-2.0
// A state is listed once.
// expect-error: state_is_listed_twice
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
#ifdef MUST_NOT_COMPILE
  using states = troupe::states<open, closed, open>;
#else
  using states = troupe::states<closed, open>;
#endif
  using messages = troupe::messages<push>;
  to<open> on(closed, push) { return {}; }
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
