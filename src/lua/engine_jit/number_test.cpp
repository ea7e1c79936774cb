// SPDX-License-Identifier: Apache-2.0

// All numbers are doubles in LuaJIT. These tests check which of them become integers outside of
// Lua.

#include "lua/codec_test.hpp"

namespace troupe::lua::detail {
namespace {

TEST_F(codec, numbers_without_a_fraction_are_written_as_integers) {
  EXPECT_EQ(to_json("{0, 1.0, -7, 2^53, -2^53, 1e3}"),
            "[0,1,-7,9007199254740992,-9007199254740992,1000]");
  EXPECT_EQ(to_cbor("{1.0, -7, 2^32}"), "8301261b0000000100000000");
}

TEST_F(codec, others_are_written_as_floats) {
  EXPECT_EQ(to_json("{0.5, -0.0, 2^54}"), "[0.5,-0.0,18014398509481984.0]");
  EXPECT_EQ(to_cbor("0.5"), "fa3f000000");
  EXPECT_EQ(to_cbor("-0.0"), "fa80000000");
  EXPECT_EQ(to_cbor("2^54"), "fa5a800000");
}

TEST_F(codec, integers_above_2_to_the_53_are_rounded) {
  EXPECT_EQ(from_json("9007199254740991"), "9007199254740991");
  EXPECT_EQ(run("return json.decode('9007199254740993') == 2^53"), "true");
  EXPECT_EQ(from_cbor("1b7fffffffffffffff"), "9223372036854775808.0");
}

TEST_F(codec, decoded_floats_and_integers_compare_equal) {
  EXPECT_EQ(run("return json.decode('1.0') == 1, json.decode('1') == 1, json.decode('1e3')"),
            "true, true, 1000");
}

}  // namespace
}  // namespace troupe::lua::detail
