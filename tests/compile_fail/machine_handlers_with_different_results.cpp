// SPDX-License-Identifier: Apache-2.0
// All handlers of a message have the same result.
// expect-error: handlers_disagree_about_the_result
// expect-error: door
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
  std::pair<int, to<open>> on(closed, push) { return {1, open{}}; }
#ifdef MUST_NOT_COMPILE
  long on(open, push) { return 2; }
#else
  int on(open, push) { return 2; }
#endif
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
