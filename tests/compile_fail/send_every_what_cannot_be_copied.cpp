// SPDX-License-Identifier: Apache-2.0
// send_every sends a copy each time.
// expect-error: send_every
// expect-error: copy
#include <chrono>
#include <memory>
#include <troupe/troupe.hpp>

struct parcel {
  std::unique_ptr<int> content;
};

class depot : public troupe::actor {
 public:
  void on(parcel) {}
};

void use(const troupe::ref<depot>& alice) {
  alice.send_after(std::chrono::seconds{1}, parcel{});
#ifdef MUST_NOT_COMPILE
  alice.send_every(std::chrono::seconds{1}, parcel{});
#endif
}
