// SPDX-License-Identifier: Apache-2.0
// The function that begins an operation is called with the completion.
// expect-error: start is called with a troupe::completion
#include <chrono>
#include <troupe/troupe.hpp>

void use() {
  auto fine = troupe::callback<int>(std::chrono::seconds(1), [](troupe::completion<int>) {});
#ifdef MUST_NOT_COMPILE
  auto wrong = troupe::callback<int>(std::chrono::seconds(1), [] {});
#endif
}
