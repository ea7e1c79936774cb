// SPDX-License-Identifier: Apache-2.0
// The parent of a state is a state of the machine's list.
// expect-error: state_is_not_listed
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
  struct wide : in<open> {};
#ifdef MUST_NOT_COMPILE
  using states = troupe::states<closed, wide>;
#else
  using states = troupe::states<closed, open, wide>;
#endif
  using messages = troupe::messages<push>;
  to<wide> on(closed, push) { return {}; }
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
