// SPDX-License-Identifier: Apache-2.0
// A string literal is not a std::string, although it converts to one.
// expect-error: greeter
// expect-error: const char ?\*
#include <string>
#include <troupe/troupe.hpp>

class greeter : public troupe::actor {
 public:
  void on(const std::string&) {}
};

void use(const troupe::ref<greeter>& alice, const char* name) {
  alice.send(std::string(name));
#ifdef MUST_NOT_COMPILE
  alice.send(name);
#endif
}
