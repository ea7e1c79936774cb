// SPDX-License-Identifier: Apache-2.0
// A channel accepts values that convert to its value type.
// expect-error: send_when_ready
#include <string>
#include <troupe/troupe.hpp>

troupe::task<> use(troupe::channel<std::string> out) {
  (void)co_await out.send_when_ready("text");
#ifdef MUST_NOT_COMPILE
  (void)co_await out.send_when_ready(1);
#endif
}
