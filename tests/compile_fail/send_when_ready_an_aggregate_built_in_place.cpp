// SPDX-License-Identifier: Apache-2.0
// GCC 12 destroys an aggregate twice if it is built from braces within a co_await.
// expect-error: build_the_message_in_place
// expect-error: letter
#include <string>
#include <troupe/troupe.hpp>

struct letter {
  std::string text;
};

class reader : public troupe::actor {
 public:
  void on(letter) {}
};

class writer : public troupe::actor {
 public:
  troupe::task<> on(std::string text) {
    letter named{text};
    (void)co_await to_.async_send(named);
    (void)co_await to_.async_send<letter>(text);
    (void)co_await to_.async_send<letter>(std::move(named));
#ifdef MUST_NOT_COMPILE
    (void)co_await to_.async_send(letter{text});
#endif
  }

 private:
  troupe::ref<reader> to_;
};
