// SPDX-License-Identifier: Apache-2.0
// A state can defer only messages of the machine's list.
// expect-error: message_is_not_listed
// expect-error: door
// expect-error: count
#include <chrono>
#include <troupe/troupe.hpp>
#include <utility>

struct push {};
struct count {};

class door : public troupe::state_machine<door> {
 public:
  struct closed : state {};
  struct open : state {};
  struct ajar : state {
#ifdef MUST_NOT_COMPILE
    using defers = troupe::messages<count>;
#endif
  };
  using states = troupe::states<closed, open, ajar>;
  using messages = troupe::messages<push>;
  to<open> on(closed, push) { return {}; }
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
