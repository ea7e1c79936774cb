// SPDX-License-Identifier: Apache-2.0

// CBOR from clients and scripts, as values of Lua. An input is the received bytes.

#include "fuzz.hpp"
#include "lua_values.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe::fuzz;
  lua_values values;
  values.check(text_of(data, size), encoding::cbor);
  return 0;
}
