// SPDX-License-Identifier: Apache-2.0
// GCC 12 destroys a lambda with captures twice if it is created within a co_await: the function
// that begins an operation refers to what it needs, or has a name.
// expect-error: name_the_function_first
#include <chrono>
#include <string>
#include <troupe/troupe.hpp>

troupe::task<std::size_t> use(std::string text) {
  using size = troupe::completion<std::size_t>;
  const auto fine = co_await troupe::callback<std::size_t>(
      std::chrono::seconds(1), [&](const size& done) { done(text.size()); });
#ifdef MUST_NOT_COMPILE
  const auto wrong = co_await troupe::callback<std::size_t>(
      std::chrono::seconds(1), [text](const size& done) { done(text.size()); });
  co_return *wrong;
#else
  co_return *fine;
#endif
}
