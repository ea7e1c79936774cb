// SPDX-License-Identifier: Apache-2.0
// A time limit needs a handler.
// expect-error: time_limit_has_no_handler
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
  static constexpr troupe::duration limit(open) { return std::chrono::seconds(5); }
#endif
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
