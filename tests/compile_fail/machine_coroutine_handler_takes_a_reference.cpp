// SPDX-License-Identifier: Apache-2.0
// A handler of a state that is a coroutine takes its message by value.
// expect-error: coroutine_handler_must_take_its_parameters_by_value
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
#ifdef MUST_NOT_COMPILE
  troupe::task<> on(closed, const push&) { co_return; }
#else
  troupe::task<> on(closed, push) { co_return; }
#endif
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
