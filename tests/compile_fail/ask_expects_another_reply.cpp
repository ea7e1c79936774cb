// SPDX-License-Identifier: Apache-2.0
// The type of the reply is the result type of the handler.
// expect-error: ask_result<long
// expect-error: string
#include <chrono>
#include <string>
#include <troupe/troupe.hpp>

struct deposit {
  long cents;
};

class account : public troupe::actor {
 public:
  long on(deposit d) { return d.cents; }
};

void use(const troupe::ref<account>& alice) {
  const troupe::ask_result<long> got = alice.ask(std::chrono::seconds(1), deposit{1}).get();
  (void)got;
#ifdef MUST_NOT_COMPILE
  const troupe::ask_result<std::string> none = alice.ask(std::chrono::seconds(1), deposit{1}).get();
#endif
}
