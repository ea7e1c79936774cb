// SPDX-License-Identifier: Apache-2.0
// Only actors can be spawned.
// expect-error: derives from troupe::actor
#include <troupe/troupe.hpp>

struct account : troupe::actor {};
struct not_an_actor {};

void use(troupe::system& system) {
  system.spawn<account>();
#ifdef MUST_NOT_COMPILE
  system.spawn<not_an_actor>();
#endif
}
