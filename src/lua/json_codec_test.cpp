// SPDX-License-Identifier: Apache-2.0

#include "codec_test.hpp"

namespace troupe::lua::detail {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

class json_codec : public codec {};

TEST_F(json_codec, encodes_lua_values) {
  EXPECT_EQ(to_json("nil"), "null");
  EXPECT_EQ(to_json("null"), "null");
  EXPECT_EQ(to_json("true"), "true");
  EXPECT_EQ(to_json("false"), "false");
  EXPECT_EQ(to_json("0"), "0");
  EXPECT_EQ(to_json("-17"), "-17");
  EXPECT_EQ(to_json("math.maxinteger"), "9223372036854775807");
  EXPECT_EQ(to_json("math.mininteger"), "-9223372036854775808");
  EXPECT_EQ(to_json("'Hällo €'"), "\"Hällo €\"");
  EXPECT_EQ(to_json("{1, {2}, {a = 3}}"), R"([1,[2],{"a":3}])");
  EXPECT_EQ(to_json("{a = {b = {}}}"), R"({"a":{"b":{}}})");
  EXPECT_THAT(to_json("{a = 1, b = 2}"), AnyOf(R"({"a":1,"b":2})", R"({"b":2,"a":1})"));
}

TEST_F(json_codec, floats_stay_floats) {
  EXPECT_EQ(to_json("1.0"), "1.0");
  EXPECT_EQ(to_json("-0.0"), "-0.0");
  EXPECT_EQ(to_json("0.1"), "0.1");
  EXPECT_EQ(to_json("1e300"), "1e+300");
  EXPECT_EQ(run("return math.type(json.decode(json.encode(2.0^53)))"), "float");
  EXPECT_EQ(run("return math.type(json.decode(json.encode(2^70)))"), "float");
  EXPECT_EQ(run("return math.type(json.decode('1e3')), math.type(json.decode('1'))"),
            "float, integer");
  EXPECT_EQ(run("for _, x in ipairs{0.1, 1/3, 5e-324, 1.7976931348623157e308, 2^-1074} do "
                "if json.decode(json.encode(x)) ~= x then return x end end"),
            "");
}

TEST_F(json_codec, escapes_only_the_characters_that_require_it) {
  EXPECT_EQ(to_json(R"('"\\/\b\f\n\r\t\0\x1f\x7f')"),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\"");
  EXPECT_EQ(run(R"(return json.decode('"\\u00e4\\ud83d\\ude00\\/\\u0000x"') == 'ä😀/\0x')"),
            "true");
}

TEST_F(json_codec, encoded_values_decode_to_the_same_values) {
  EXPECT_EQ(run("local t = json.decode(json.encode{a = {1, 2, {b = 'x'}}, c = null, d = 1.5}) "
                "return #t, t.a[1], t.a[3].b, t.c == null, t.d"),
            "0, 1, x, true, 1.5");
}

TEST_F(json_codec, tables_with_elements_or_the_array_mark_encode_as_arrays) {
  EXPECT_EQ(to_json("{}"), "{}");
  EXPECT_EQ(to_json("array()"), "[]");
  EXPECT_EQ(to_json("array{}"), "[]");
  EXPECT_EQ(to_json("{array{}, {}}"), "[[],{}]");
  EXPECT_EQ(from_json(R"([{},[],{"a":[]}])"), R"([{},[],{"a":[]}])");
  EXPECT_EQ(run("local t = {} return array(t) == t and array(array(t)) == t"), "true");
  EXPECT_EQ(run("local t = {} for i = 10, 1, -1 do t[i] = i end return json.encode(t)"),
            "[1,2,3,4,5,6,7,8,9,10]");
  EXPECT_EQ(run("local t = json.decode('[1]') t[1] = nil return json.encode(t)"), "[]");
}

TEST_F(json_codec, arrays_are_ordinary_tables) {
  EXPECT_EQ(run("local t = json.decode('[3,1,2]') table.sort(t) t[#t + 1] = 9 "
                "return #t, table.concat(t, ' ')"),
            "4, 1 2 3 9");
  EXPECT_EQ(run("array(1)"),
            "error: script:1: bad argument #1 to 'array' (table expected, got number)");
  EXPECT_EQ(run("array(setmetatable({}, {}))"),
            "error: script:1: array: the table has a metatable");
}

TEST_F(json_codec, scripts_cannot_change_the_marks) {
  EXPECT_EQ(run("return getmetatable(array{}), getmetatable(null)"), "false, false");
  EXPECT_THAT(run("setmetatable(array{}, {})"), HasSubstr("cannot change a protected metatable"));
  EXPECT_EQ(run("return tostring(null), type(null), null == null, not null"),
            "null, userdata, true, false");
}

TEST_F(json_codec, encoding_errors_name_the_path_to_the_value) {
  const std::string error = "error: script:1: cannot encode ";
  EXPECT_EQ(to_json("pcall"), error + "a function");
  EXPECT_EQ(to_json("{players = {1, 2, {on_hit = pcall}}}"),
            error + "a function at .players[3].on_hit");
  EXPECT_EQ(to_json("{['a b'] = {[''] = coroutine.create(pcall)}}"),
            error + "a thread at [\"a b\"][\"\"]");
  EXPECT_EQ(to_json("{0/0}"), error + "a non-finite number as JSON at [1]");
  EXPECT_EQ(to_json("{x = -1/0}"), error + "a non-finite number as JSON at .x");
  EXPECT_EQ(to_json("{x = '\\xff'}"), error + "a string that is not valid UTF-8 as JSON at .x");
  EXPECT_EQ(to_json("{['\\xff'] = 1}"), error + "a key that is not valid UTF-8 at [\"?\"]");
  EXPECT_EQ(to_json("{x = {1, a = 2}}"), error + "a table with both number and string keys at .x");
  EXPECT_EQ(to_json("{[2] = 1}"), error + "a table whose number keys are not exactly 1 to n");
  EXPECT_EQ(to_json("{1, nil, 3}"), error + "a table whose number keys are not exactly 1 to n");
  EXPECT_EQ(to_json("{[0] = 1}"), error + "a table whose number keys are not exactly 1 to n");
  EXPECT_EQ(to_json("{[math.maxinteger] = 1}"),
            error + "a table whose number keys are not exactly 1 to n");
  EXPECT_EQ(to_json("{[1.5] = 1}"), error + "a table with a number as a key");
  EXPECT_EQ(to_json("{[true] = 1}"), error + "a table with a boolean as a key");
  EXPECT_EQ(to_json("{[null] = 1}"), error + "a table with a userdata as a key");
  EXPECT_EQ(run("local t = array{} t.x = 1 return json.encode(t)"),
            error + "an array with string keys");
  EXPECT_EQ(run("return json.encode()"),
            "error: script:1: bad argument #1 to 'encode' (value expected)");
}

TEST_F(json_codec, long_paths_are_cut) {
  EXPECT_EQ(
      to_json("{[('x'):rep(100)] = pcall}"),
      std::string("error: script:1: cannot encode a function at .").append(40, 'x').append("…"));
  const std::string deep =
      run("local t = pcall for i = 1, 20 do t = {[('ä'):rep(15)] = t} end json.encode(t)");
  EXPECT_THAT(deep, testing::EndsWith("…"));
  EXPECT_LT(deep.size(), 300U);
}

TEST_F(json_codec, metamethods_are_not_called) {
  EXPECT_EQ(run("local function no() error('called') end "
                "return json.encode(setmetatable({1, 2}, {__index = no, __len = no, __pairs = no, "
                "__tostring = no}))"),
            "[1,2]");
}

TEST_F(json_codec, cycles_end) {
  EXPECT_THAT(run("local t = {} t.t = t return json.encode(t)"),
              HasSubstr("cannot encode values nested more than 64 deep at .t.t.t.t"));
}

TEST_F(json_codec, decoding_errors_name_the_problem_and_the_byte) {
  const auto wrong = [&](const std::string& text, const std::string& with) {
    EXPECT_EQ(from_json(text), "nil, " + with) << text;
  };
  wrong("", "byte 0: value - unexpected end of input");
  wrong("[1,", "byte 3: value - unexpected end of input");
  wrong("[1,]", "byte 3: value - unexpected ']'");
  wrong("{\"a\" 1}", "byte 5: object separator - unexpected number literal");
  wrong("nul", "byte 3: value - invalid literal");
  wrong("1 2", "byte 2: value - unexpected number literal");
  wrong("// no\n1", "byte 0: value - invalid literal");
  wrong("'a'", "byte 0: value - invalid literal");
  wrong("NaN", "byte 0: value - invalid literal");
  wrong("01", "byte 1: value - unexpected number literal");
  wrong("\"a\nb\"",
        "byte 2: value - invalid string: control character U+000A (LF) "
        "must be escaped to \\u000A or \\n");
  wrong("\"\xff\"", "byte 1: value - invalid string: ill-formed UTF-8 byte");
  wrong("\"\xc0\xaf\"", "byte 1: value - invalid string: ill-formed UTF-8 byte");
  wrong("\"\xed\xa0\x80\"", "byte 2: value - invalid string: ill-formed UTF-8 byte");
  wrong("\"\\ud800\"",
        "byte 7: value - invalid string: surrogate U+D800..U+DBFF must "
        "be followed by U+DC00..U+DFFF");
  wrong("9223372036854775808", "byte 19: the integer does not fit into 64 bits");
  wrong("[-9223372036854775809]", "byte 22: the integer does not fit into 64 bits");
  wrong("100000000000000000000", "byte 21: the integer does not fit into 64 bits");
  wrong("1e999", "byte 4: number overflow parsing '1e999'");
  wrong(R"({"a":1,"b":2,"a":3})", "byte 16: duplicate key \"a\"");
}

TEST_F(json_codec, error_messages_are_short_and_valid_utf8) {
  const std::string key(10'000, 'k');
  EXPECT_EQ(from_json("{\"" + key + "\":1,\"" + key + "\":2}").size(), 76U);
  for (const char* text : {"\"%\xff", "[\"\xff\xff", "{%\xfe", "nul\xff", "1\xff", "{\"\\\xff"}) {
    std::string given = text;
    if (const auto at = given.find('%'); at != given.npos) given.replace(at, 1, 10'000, 'x');
    const std::string said = from_json(given);
    EXPECT_LT(said.size(), 200U);
    EXPECT_EQ(run("return utf8.len(select(2, json.decode(given))) ~= nil"), "true") << said;
  }
}

struct small_codec : codec {
  small_codec() : codec({.depth = 3, .bytes = 100, .elements = 10}) {}
};

TEST_F(small_codec, has_limits_when_it_writes) {
  EXPECT_EQ(to_json("{{{}}}"), "[[{}]]");
  EXPECT_THAT(to_json("{{{{}}}}"), HasSubstr("values nested more than 3 deep at [1][1][1]"));
  EXPECT_EQ(to_json("('x'):rep(98)").size(), 100U);
  EXPECT_THAT(to_json("('x'):rep(99)"), HasSubstr("cannot encode more than 100 bytes"));
  EXPECT_THAT(to_json("('x'):rep(1000000)"), HasSubstr("cannot encode more than 100 bytes"));
  EXPECT_EQ(to_json("{1,2,3,4,5,6,7,8,9}"), "[1,2,3,4,5,6,7,8,9]");
  EXPECT_THAT(to_json("{1,2,3,4,5,6,7,8,9,0}"), HasSubstr("cannot encode more than 10 values"));
}

TEST_F(small_codec, has_limits_when_it_reads) {
  EXPECT_EQ(from_json("[[[]]]"), "[[[]]]");
  EXPECT_EQ(from_json("[[[[]]]]"), "nil, byte 4: nested more than 3 deep");
  EXPECT_EQ(from_json(R"({"a":{"b":{"c":{}}}})"), "nil, byte 16: nested more than 3 deep");
  EXPECT_EQ(from_json(std::string(101, ' ')), "nil, byte 100: the input is larger than the limit");
  EXPECT_EQ(from_json("[1,2,3,4,5,6,7,8,9]"), "[1,2,3,4,5,6,7,8,9]");
  EXPECT_EQ(from_json("[1,2,3,4,5,6,7,8,9,0]"), "nil, byte 21: more than 10 values");
}

struct quick_codec : codec {
  quick_codec()
      : codec({.bytes = 100'000'000, .elements = 100'000'000},
              {.run_timeout = std::chrono::milliseconds(50)}) {}
};

constexpr auto out_of_time = "killed: ran for more than 50 ms without waiting";

TEST_F(quick_codec, takes_part_in_the_time_of_a_run) {
  EXPECT_EQ(run("local t = {} while true do json.encode(t) end"), out_of_time);
  EXPECT_EQ(
      run("local t = {} for i = 1, 1000 do t[i] = i end while true do pcall(json.encode, t) end"),
      out_of_time);
  EXPECT_EQ(run("local s = '[' .. ('[],'):rep(10000) .. '0]' while true do json.decode(s) end"),
            out_of_time);
  EXPECT_EQ(run("local s = ('x'):rep(100000) while true do json.encode(s) end"), out_of_time);
}

struct json_codec_low_memory : codec {
  json_codec_low_memory()
      : codec({.bytes = 10'000'000, .elements = 10'000'000},
              {.memory_soft = 1'000'000, .memory_hard = 2'000'000}) {}
};

TEST_F(json_codec_low_memory, decoding_beyond_the_memory_limit_is_an_error) {
  EXPECT_EQ(run("local s = '[' .. ('[],'):rep(100000) .. '0]' return json.decode(s)"),
            "error: not enough memory");
  EXPECT_EQ(run("return json.encode(json.decode('[1]'))"), "[1]");
}

TEST_F(json_codec, leaves_nothing_on_the_stack_but_the_value) {
  lua_State* const lua = state_.main();
  lua_settop(lua, 0);
  EXPECT_EQ(push_decoded(lua, "[1,{\"a\":[", encoding::json),
            "byte 9: value - unexpected end of input");
  EXPECT_EQ(lua_gettop(lua), 0);
  EXPECT_EQ(push_decoded(lua, "[1,{\"a\":[2]}]", encoding::json), std::nullopt);
  EXPECT_EQ(lua_gettop(lua), 1);
  std::string text = "x";
  encode(lua, -1, encoding::json, text);
  EXPECT_EQ(text, "x[1,{\"a\":[2]}]");
  EXPECT_EQ(lua_gettop(lua), 1);
}

}  // namespace
}  // namespace troupe::lua::detail
