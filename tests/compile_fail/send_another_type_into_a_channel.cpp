// SPDX-License-Identifier: Apache-2.0
// A channel accepts values that convert to its value type.
// expect-error: async_send
#include <string>
#include <troupe/troupe.hpp>

troupe::task<> use(troupe::channel<std::string> out) {
  (void)co_await out.async_send("text");
#ifdef MUST_NOT_COMPILE
  (void)co_await out.async_send(1);
#endif
}
