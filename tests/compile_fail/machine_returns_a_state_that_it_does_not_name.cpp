// SPDX-License-Identifier: Apache-2.0
// A handler returns one of the targets that its declaration names.
// expect-error: closed
// expect-error: to<
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
  to<open, stay> on(closed, push) {
#ifdef MUST_NOT_COMPILE
    return closed{};
#else
    return open{};
#endif
  }
};

void use(troupe::system& system) { system.spawn<door>().send(push{}); }
