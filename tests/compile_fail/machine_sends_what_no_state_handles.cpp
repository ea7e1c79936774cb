// SPDX-License-Identifier: Apache-2.0
// A machine understands the messages of its list.
// expect-error: actor_does_not_understand_message
// expect-error: door
// expect-error: kick
#include <troupe/troupe.hpp>

struct push {};
struct kick {};

class door : public troupe::state_machine<door> {
 public:
  struct closed : state {};
  struct open : state {};
  using states = troupe::states<closed, open>;
  using messages = troupe::messages<push>;
  to<open> on(closed, push) { return {}; }
  to<closed> on(open, push) { return {}; }
};

void use(const troupe::ref<door>& to) {
  to.send(push{});
#ifdef MUST_NOT_COMPILE
  to.send(kick{});
#endif
}
