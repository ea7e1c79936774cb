// SPDX-License-Identifier: Apache-2.0
// GCC 12 destroys a lambda with captures twice if it is created within a co_await: the call gets a
// name first.
// expect-error: name_the_call_first
#include <chrono>
#include <string>
#include <troupe/troupe.hpp>
#include <utility>

troupe::task<std::size_t> use(const troupe::blocking_pool& pool, std::string text) {
  auto call = pool.run(std::chrono::seconds(1), [text] { return text.size(); });
  const auto fine = co_await call;
  const auto length = [text = std::move(text)] { return text.size(); };
  const auto also = co_await pool.run(std::chrono::seconds(1), length);
#ifdef MUST_NOT_COMPILE
  const auto wrong = co_await pool.run(std::chrono::seconds(1), [length] { return length(); });
  co_return *wrong;
#else
  co_return *fine + *also;
#endif
}
