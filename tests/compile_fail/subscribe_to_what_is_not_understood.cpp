// SPDX-License-Identifier: Apache-2.0
// A subscriber of a topic needs a handler for its messages.
// expect-error: board
// expect-error: trade
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>

struct quote {
  long cents;
};
struct trade {
  long cents;
};

class board : public troupe::actor {
 public:
  void on(const quote&) {}
};

void use(const troupe::ref<board>& one) {
  troupe::topic<quote>().subscribe(one);
#ifdef MUST_NOT_COMPILE
  troupe::topic<trade>().subscribe(one);
#endif
}
