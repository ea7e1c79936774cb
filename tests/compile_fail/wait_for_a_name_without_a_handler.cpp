// SPDX-License-Identifier: Apache-2.0
// An actor that waits for a name needs a handler for name_registered.
// expect-error: deaf
// expect-error: name_registered
#include <troupe/supervision/registry.hpp>
#include <troupe/troupe.hpp>

class clerk : public troupe::actor {
 public:
  void on(const troupe::name_registered&) {}
};
class deaf : public troupe::actor {};

void use(const troupe::registry& all, const troupe::ref<clerk>& one,
         const troupe::ref<deaf>& other) {
  all.notify_on_register("alice", one);
#ifdef MUST_NOT_COMPILE
  all.notify_on_register("alice", other);
#endif
  (void)other;
}
