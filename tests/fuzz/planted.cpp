// SPDX-License-Identifier: Apache-2.0

// A target with a planted bug, to verify that a replay finds it.

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  troupe::fuzz::require(troupe::fuzz::text_of(data, size) != "bug\n", "there is no bug");
  return 0;
}
