// SPDX-License-Identifier: Apache-2.0
// A message with a result has one in every state.
// expect-error: message_with_a_result_is_ignored
// expect-error: door
// expect-error: push
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
  std::pair<int, to<open>> on(closed, push) { return {1, open{}}; }
#ifndef MUST_NOT_COMPILE
  int on(open, push) { return 2; }
#endif
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
