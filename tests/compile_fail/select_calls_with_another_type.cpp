// SPDX-License-Identifier: Apache-2.0
// The function passed to from() takes a value of its channel.
// expect-error: select_cannot_call<take_text, int>
#include <string>
#include <troupe/troupe.hpp>

struct take_text {
  void operator()(const std::string&) {}
};

void use(const troupe::channel<int>& numbers, const troupe::channel<std::string>& texts) {
#ifdef MUST_NOT_COMPILE
  troupe::select(troupe::from(numbers, take_text{}), troupe::from(texts, take_text{}));
#else
  troupe::select(troupe::from(numbers, [](int) {}), troupe::from(texts, take_text{}));
#endif
}
