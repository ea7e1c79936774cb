// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <troupe/detail/base/assert.hpp>

namespace troupe::detail {

void contract_broken(const char* file, int line, const char* condition, const char* text) noexcept {
  std::fprintf(stderr, "%s:%d: %s (%s)\n", file, line, text, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace troupe::detail
