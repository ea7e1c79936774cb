// SPDX-License-Identifier: Apache-2.0
// If a lambda is built within a co_await, GCC 12 destroys its captures twice.
// expect-error: name_the_case_first
#include <string>
#include <troupe/troupe.hpp>

troupe::task<> use(troupe::channel<int> in, std::string text) {
  (void)co_await troupe::select_when_ready(from(in, [&text](int) { text += '.'; }));
  auto first = from(in, [text](int) { (void)text.size(); });
  (void)co_await troupe::select_when_ready(first);
#ifdef MUST_NOT_COMPILE
  (void)co_await troupe::select_when_ready(from(in, [text](int) { (void)text.size(); }));
#endif
}
