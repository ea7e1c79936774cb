// SPDX-License-Identifier: Apache-2.0

#include "codec_test.hpp"

namespace troupe::lua::detail {
namespace {

using testing::HasSubstr;

class cbor_codec : public codec {};

TEST_F(cbor_codec, encodes_lua_values) {
  EXPECT_EQ(to_cbor("nil"), "f6");
  EXPECT_EQ(to_cbor("null"), "f6");
  EXPECT_EQ(to_cbor("true"), "f5");
  EXPECT_EQ(to_cbor("false"), "f4");
  EXPECT_EQ(to_cbor("0"), "00");
  EXPECT_EQ(to_cbor("23"), "17");
  EXPECT_EQ(to_cbor("24"), "1818");
  EXPECT_EQ(to_cbor("256"), "190100");
  EXPECT_EQ(to_cbor("65536"), "1a00010000");
  EXPECT_EQ(to_cbor("1 << 32"), "1b0000000100000000");
  EXPECT_EQ(to_cbor("-1"), "20");
  EXPECT_EQ(to_cbor("-500"), "3901f3");
  EXPECT_EQ(to_cbor("math.maxinteger"), "1b7fffffffffffffff");
  EXPECT_EQ(to_cbor("math.mininteger"), "3b7fffffffffffffff");
  EXPECT_EQ(to_cbor("'ä'"), "62c3a4");
  EXPECT_EQ(to_cbor("'\\xff\\x00'"), "42ff00");
  EXPECT_EQ(to_cbor("{1, {a = 2}}"), "8201a1616102");
  EXPECT_EQ(to_cbor("{}"), "a0");
  EXPECT_EQ(to_cbor("array()"), "80");
}

TEST_F(cbor_codec, floats_take_four_bytes_where_that_loses_nothing) {
  EXPECT_EQ(to_cbor("1.0"), "fa3f800000");
  EXPECT_EQ(to_cbor("-0.0"), "fa80000000");
  EXPECT_EQ(to_cbor("0.1"), "fb3fb999999999999a");
  EXPECT_EQ(to_cbor("1e300"), "fb7e37e43c8800759c");
  EXPECT_EQ(to_cbor("1/0"), "fa7f800000");
  EXPECT_EQ(to_cbor("-1/0"), "faff800000");
  EXPECT_EQ(to_cbor("0/0"), "f97e00");
  EXPECT_EQ(
      run("for _, x in ipairs{0.1, 1/3, 5e-324, 1.7976931348623157e308, 3.5e38, 1e-46, 1/0} do "
          "if cbor.decode(cbor.encode(x)) ~= x then return x end end"),
      "");
}

// The examples of RFC 8949, appendix A.
TEST_F(cbor_codec, reads_the_examples_of_the_rfc) {
  const auto is = [&](const std::string& hex, const std::string& json) {
    EXPECT_EQ(from_cbor(hex), json) << hex;
  };
  is("00", "0");
  is("0a", "10");
  is("1903e8", "1000");
  is("1b000000e8d4a51000", "1000000000000");
  is("29", "-10");
  is("3903e7", "-1000");
  is("f90000", "0.0");
  is("f98000", "-0.0");
  is("f93c00", "1.0");
  is("f93e00", "1.5");
  is("f97bff", "65504.0");
  is("f90001", "5.960464477539063e-08");
  is("f90400", "6.103515625e-05");
  is("f9c400", "-4.0");
  is("fa47c35000", "1e+05");
  is("fb3ff199999999999a", "1.1");
  is("f4", "false");
  is("f5", "true");
  is("f6", "null");
  is("f7", "null");
  is("60", "\"\"");
  is("6449455446", "\"IETF\"");
  is("62225c", "\"\\\"\\\\\"");
  is("64f0908591", "\"\xf0\x90\x85\x91\"");
  is("4401020304", "\"\\u0001\\u0002\\u0003\\u0004\"");
  is("80", "[]");
  is("83010203", "[1,2,3]");
  is("98190102030405060708090a0b0c0d0e0f101112131415161718181819",
     "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]");
  is("a0", "{}");
  is("a161616142", "{\"a\":\"B\"}");
  is("826161a161626163", "[\"a\",{\"b\":\"c\"}]");
  is("5f42010243030405ff", "\"\\u0001\\u0002\\u0003\\u0004\\u0005\"");
  is("7f657374726561646d696e67ff", "\"streaming\"");
  is("9fff", "[]");
  is("9f018202039f0405ffff", "[1,[2,3],[4,5]]");
  is("83018202039f0405ff", "[1,[2,3],[4,5]]");
  is("bf6161019f0203ffff", "nil, byte 4: the key is not text");
  is("bf61619f0203ffff", R"({"a":[2,3]})");
}

TEST_F(cbor_codec, reads_every_way_to_write_a_number) {
  for (const char* hex : {"05", "1805", "190005", "1a00000005", "1b0000000000000005"}) {
    EXPECT_EQ(from_cbor(hex), "5") << hex;
  }
  EXPECT_EQ(run("return cbor.decode(unhex('f97c00')), cbor.decode(unhex('f9fc00'))"), "inf, -inf");
  EXPECT_EQ(run("local x = cbor.decode(unhex('f97e00')) return x ~= x"), "true");
}

TEST_F(cbor_codec, texts_and_bytes_are_both_strings) {
  EXPECT_EQ(run("local t = {'text', '\\xff\\xfe', ['\\1'] = nil} "
                "local u = cbor.decode(cbor.encode(t)) return u[1] == t[1], u[2] == t[2]"),
            "true, true");
}

TEST_F(cbor_codec, decoding_errors_name_the_problem_and_the_byte) {
  const auto wrong = [&](const std::string& hex, const std::string& with) {
    EXPECT_EQ(from_cbor(hex), "nil, " + with) << hex;
  };
  wrong("", "byte 0: unexpected end of data");
  wrong("19", "byte 0: unexpected end of data");
  wrong("8201", "byte 0: unexpected end of data");
  wrong("9bffffffffffffffff", "byte 0: unexpected end of data");
  wrong("bbffffffffffffffff", "byte 0: unexpected end of data");
  wrong("7bffffffffffffffff", "byte 0: unexpected end of data");
  wrong("9a000f424001", "byte 0: unexpected end of data");
  wrong("0001", "byte 1: unexpected data after the value");
  wrong("1b8000000000000000", "byte 0: the integer does not fit into 64 bits");
  wrong("813b8000000000000000", "byte 1: the integer does not fit into 64 bits");
  wrong("c11a514b67b0", "byte 0: a tag");
  wrong("d9d9f700", "byte 0: a tag");
  wrong("e0", "byte 0: an unsupported simple value");
  wrong("f818", "byte 0: an unsupported simple value");
  wrong("f8ff", "byte 0: an unsupported simple value");
  wrong("ff", "byte 0: a break outside of an indefinite-length value");
  wrong("82ff00", "byte 1: a break outside of an indefinite-length value");
  wrong("a1ff", "byte 1: the key is not text");
  wrong("bf6161ff", "byte 3: a break outside of an indefinite-length value");
  wrong("1c", "byte 0: an invalid length");
  wrong("fe", "byte 0: an invalid length");
  wrong("1f", "byte 0: an invalid length");
  wrong("df00", "byte 0: an invalid length");
  wrong("61ff", "byte 0: the text is not valid UTF-8");
  wrong("62c328", "byte 0: the text is not valid UTF-8");
  wrong("7f61c361a4ff", "byte 1: the text is not valid UTF-8");
  wrong("7f4161ff", "byte 1: a string chunk of another type");
  wrong("7f7f6161ffff", "byte 1: a string chunk of another type");
  wrong("7f6161", "byte 3: unexpected end of data");
  wrong("9f01", "byte 2: unexpected end of data");
  wrong("bf616101", "byte 4: unexpected end of data");
  wrong("a10102", "byte 1: the key is not text");
  wrong("a1416102", "byte 1: the key is not text");
  wrong("a2616101616102", "byte 4: duplicate key \"a\"");
}

TEST_F(cbor_codec, deep_nesting_is_refused_whatever_it_is_of) {
  const auto nested = [&](const std::string& hex, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += hex;
    return from_cbor(all);
  };
  EXPECT_EQ(nested("81", 100'000), "nil, byte 64: nested more than 64 deep");
  EXPECT_EQ(nested("9f", 100'000), "nil, byte 64: nested more than 64 deep");
  EXPECT_EQ(nested("a16161", 100'000), "nil, byte 192: nested more than 64 deep");
  EXPECT_EQ(nested("7f", 100'000), "nil, byte 1: a string chunk of another type");
  EXPECT_EQ(nested("c1", 100'000), "nil, byte 0: a tag");
}

TEST_F(cbor_codec, encoding_errors_name_the_path_to_the_value) {
  EXPECT_EQ(to_cbor("{a = {pcall}}"), "error: script:1: cannot encode a function at .a[1]");
  EXPECT_EQ(to_cbor("{['\\xff'] = 1}"),
            "error: script:1: cannot encode a key that is not valid UTF-8 at [\"?\"]");
  EXPECT_THAT(run("local t = {} t[1] = t return cbor.encode(t)"),
              HasSubstr("nested more than 64 deep"));
}

struct deep_codec : codec {
  deep_codec() : codec({.depth = 1'000'000, .bytes = 100'000'000}) {}
};

TEST_F(deep_codec, has_a_depth_that_the_stack_has_room_for) {
  EXPECT_EQ(
      run("local t = {} for i = 1, 499 do t = {t} end "
          "return #cbor.encode(t), cbor.encode(cbor.decode(cbor.encode(t))) == cbor.encode(t)"),
      "500, true");
  EXPECT_THAT(run("local t = {} for i = 1, 500 do t = {t} end return json.encode(t)"),
              HasSubstr("more than 500 deep"));
  EXPECT_EQ(run("return json.decode(('['):rep(10000))"),
            "nil, byte 501: nested more than 500 deep");
}

struct cbor_codec_low_memory : codec {
  cbor_codec_low_memory()
      : codec({.bytes = 10'000'000}, {.memory_soft = 1'000'000, .memory_hard = 2'000'000}) {}
};

TEST_F(cbor_codec_low_memory, does_not_allocate_for_the_claimed_size_of_containers) {
  EXPECT_THAT(run("return cbor.decode(('\\x99\\x10\\x00'):rep(60) .. ('\\0'):rep(5000))"),
              HasSubstr("unexpected end of data"));
}

}  // namespace
}  // namespace troupe::lua::detail
