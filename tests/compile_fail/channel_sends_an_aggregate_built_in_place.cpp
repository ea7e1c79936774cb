// SPDX-License-Identifier: Apache-2.0
// GCC 12 destroys an aggregate twice if it is built within a co_await.
// expect-error: build_the_message_in_place<letter>
#include <string>
#include <troupe/troupe.hpp>
#include <utility>

struct letter {
  std::string text;
};

troupe::task<> use(troupe::channel<letter> out, std::string text) {
  letter named{text};
  (void)co_await out.async_send(named);
  (void)co_await out.async_send<letter>(std::move(named));
#ifdef MUST_NOT_COMPILE
  (void)co_await out.async_send(letter{text});
#endif
}
