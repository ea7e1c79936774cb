// SPDX-License-Identifier: Apache-2.0
// A reference made for the call is not held by the actor.
// expect-error: is_no_reference_that_the_actor_holds
#include <troupe/troupe.hpp>

class seat : public troupe::actor {
 public:
  void on(long) {}
  void references(troupe::reference_visitor& visit) const {
    visit(next_);
#ifdef MUST_NOT_COMPILE
    visit(before_.lock());
#endif
  }

 private:
  troupe::ref<seat> next_;
  troupe::weak_ref<seat> before_;
};

troupe::ref<seat> use(troupe::system& in) { return in.spawn<seat>(); }
