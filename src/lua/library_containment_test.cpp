// SPDX-License-Identifier: Apache-2.0

// Ways to make one call of a library function take long, without an instruction of Lua that the
// hook would see.

#include "script_test.hpp"

namespace troupe::lua::detail {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct way {
  std::string name;
  std::string script;
};

std::string named(const testing::TestParamInfo<way>& which) { return which.param.name; }

class endless_call : public script, public testing::WithParamInterface<way> {};

TEST_P(endless_call, is_ended_by_the_time_limit) {
  EXPECT_EQ(run(GetParam().script), "killed: ran for more than 50 ms without waiting");
}

INSTANTIATE_TEST_SUITE_P(
    patterns, endless_call,
    testing::Values(
        way{"lazy", "return ('a'):rep(30000):find(('.-'):rep(20) .. 'b')"},
        way{"greedy", "return ('a'):rep(30000):find(('a*'):rep(20) .. 'b')"},
        way{"at_least_one", "return ('a'):rep(30000):match(('a+'):rep(20) .. 'b')"},
        way{"optional", "return ('x'):rep(100):find(('x?'):rep(100) .. ('x'):rep(101))"},
        way{"sets", "return ('a'):rep(30000):find(('[^b-z]*'):rep(20) .. 'b')"},
        way{"classes", "return ('a'):rep(30000):find(('%w-'):rep(20) .. '%d')"},
        way{"captures", "return ('a'):rep(30000):find(('(.*)'):rep(20) .. 'b')"},
        way{"positions", "return ('a'):rep(30000):find(('().-'):rep(20) .. 'b')"},
        way{"back_reference", "return ('a'):rep(100000):find('(.-)%1b')"},
        way{"long_back_reference", "return ('a'):rep(1000000):find('^(.*)%1%1b')"},
        way{"balanced", "return ('('):rep(1000000):find('%b()')"},
        way{"balanced_many", "return ('()'):rep(3000):find(('.-%b()'):rep(9) .. 'x')"},
        way{"long_frontier", "return ('ab'):rep(100000):find('%f[' .. ('c'):rep(100000) .. ']')"},
        way{"long_set", "return ('a'):rep(100000):find('()[' .. ('b'):rep(100000) .. 'a]-x')"},
        way{"many_starts", "return ('a'):rep(1000000):find('a-b')"},
        way{"in_pcall",
            "while true do pcall(string.find, ('a'):rep(30000), ('.-'):rep(20) .. 'b') end"},
        way{"in_a_coroutine",
            "return coroutine.wrap(function() return ('a'):rep(30000):find(('.-'):rep(20) .. 'b') "
            "end)()"},
        way{"gmatch", "for _ in ('a'):rep(30000):gmatch('(.-)(.-)(.-)(.-)b') do end"},
        way{"gmatch_in_another_coroutine",
            "local f = ('a'):rep(30000):gmatch('.-.-.-.-b') return coroutine.wrap(f)()"},
        way{"gsub", "return ('a'):rep(30000):gsub(('a-'):rep(10) .. 'b', '')"},
        way{"gsub_many_starts", "return ('a'):rep(1000000):gsub('a-b', '')"},
        way{"gsub_long_template", "return ('a'):rep(100000):gsub('(x*)a', ('%1'):rep(100000))"},
        way{"gsub_table", "return ('a'):rep(1000000):gsub('(a-)b', {})"}),
    named);

INSTANTIATE_TEST_SUITE_P(
    strings, endless_call,
    testing::Values(
        way{"plain_find",
            "local s, w = ('a'):rep(8000000), ('a'):rep(4000000) .. 'b' "
            "while true do s:find(w, 1, true) end"},
        way{"rep", "while true do ('x'):rep(8000000) end"},
        way{"rep_of_nothing", "while true do (''):rep(1 << 62) end"},
        way{"upper", "local s = ('x'):rep(8000000) while true do s:upper() end"},
        way{"reverse", "local s = ('x'):rep(8000000) while true do s:reverse() end"},
        way{"sub", "local s = ('x'):rep(8000000) while true do s:sub(2) end"},
        way{"byte", "local s = ('x'):rep(200000) while true do s:byte(1, -1) end"},
        way{"format", "local s = ('x'):rep(8000000) while true do ('%s'):format(s) end"},
        way{"format_little_of_much",
            "local s = ('x'):rep(8000000) while true do ('%.1s'):format(s) end"},
        way{"format_quoted", "local s = ('x'):rep(8000000) while true do ('%q'):format(s) end"},
        way{"pack", "local s = ('x'):rep(8000000) while true do string.pack('z', s) end"},
        way{"unpack",
            "local s = ('x'):rep(8000000) while true do pcall(string.unpack, 'z', s) end"},
        way{"arithmetic", "local s = (' '):rep(8000000) .. '1' while true do local _ = s + 1 end"},
        way{"tonumber", "local s = (' '):rep(8000000) .. '1' while true do tonumber(s) end"},
        way{"select", "local t = {} while true do select('#', table.unpack(t, 1, 200000)) end"},
        way{"load_comment", "local s = '--' .. ('x'):rep(8000000) while true do load(s) end"},
        way{"load_pieces", "local s = ('x=1 '):rep(100000) return load(function() return s end)"},
        way{"utf8_len", "local s = ('x'):rep(8000000) while true do utf8.len(s) end"},
        way{"utf8_offset",
            "local s = ('x'):rep(8000000) while true do utf8.offset(s, 1 << 40) end"},
        way{"utf8_codes",
            "local s = 'x' .. ('\\x80'):rep(8000000) local next = utf8.codes(s, true) "
            "while true do next(s, 1) end"},
        way{"utf8_codes_wrong",
            "local s = 'x' .. ('\\x80'):rep(8000000) .. '\\xff' local next = utf8.codes(s) "
            "while true do pcall(next, s, 1) end"}),
    named);

INSTANTIATE_TEST_SUITE_P(
    tables, endless_call,
    testing::Values(
        way{"move", "table.move({}, 1, 1 << 40, 2)"},
        way{"move_to_another", "table.move({}, 1, 1 << 40, 2, {})"},
        way{"move_down", "table.move({}, 2, 1 << 40, 1)"},
        way{"insert",
            "table.insert(setmetatable({}, {__len = function() return 1 << 60 end}), 1, 'x')"},
        way{"remove", "table.remove(setmetatable({}, {__len = function() return 1 << 60 end}), 1)"},
        way{"concat",
            "return table.concat(setmetatable({}, {__index = type, __len = function() return 1 << "
            "60 "
            "end}))"},
        way{"concat_separators",
            "local t = {} for i = 1, 1000 do t[i] = '' end local s = ('x'):rep(8000) "
            "while true do table.concat(t, s) end"},
        way{"unpack", "while true do table.unpack({}, 1, 200000) end"},
        way{"pack", "while true do table.pack(table.unpack({}, 1, 200000)) end"},
        way{"sort_of_nothing",
            "table.sort(setmetatable({}, {__index = rawlen, __newindex = rawlen, __len = "
            "function() "
            "return (1 << 31) - 2 end}))"},
        way{"sort_long_strings",
            "local s, t = ('x'):rep(200000), {} for i = 1, 100 do t[i] = s .. i % 7 end "
            "while true do table.sort(t) end"},
        way{"sort_of_long_strings_by_a_library_function",
            "local t = {} for i = 1, 100 do t[i] = ('x'):rep(200000) end "
            "while true do pcall(table.sort, t, rawequal) end"},
        way{"sort_by_a_library_function",
            "local t = {} for i = 1, 10000 do t[i] = i end "
            "while true do table.sort(t, math.ult) table.sort(t, rawequal) end"}),
    named);

// ── Calls that may take long ──────────────────────────────────────────────────────────────────

struct ten_seconds : script {
  ten_seconds() : script({.run_timeout = std::chrono::seconds(10)}) {}
};

TEST_F(ten_seconds, a_megabyte_of_text_is_worked_on) {
  run("text = ('The quick brown fox, jumps over the lazy dog; '):rep(22000)");
  EXPECT_EQ(run("local s, n = text:gsub('%a+', '<%0>') return #s, n"), "1408000, 198000");
  EXPECT_EQ(run("local s, n = text:gsub('fox', 'cat') return n"), "22000");
  EXPECT_EQ(run("local n = 0 for w in text:gmatch('%a+') do n = n + 1 end return n"), "198000");
  EXPECT_EQ(run("return text:find('nowhere'), text:find('%d'), #text:upper()"),
            "nil, nil, 1012000");
}

TEST_F(ten_seconds, a_long_table_is_worked_on) {
  run("list = {} for i = 1, 50000 do list[i] = i * 7919 % 50021 end");
  EXPECT_EQ(run("table.sort(list) return list[1], #list, #table.concat(list, ',') > 200000"),
            "1, 50000, true");
  EXPECT_EQ(run("return #table.move(list, 1, #list, 2), select('#', table.unpack(list))"),
            "50001, 50001");
}

TEST_F(script, formats_of_dates_are_short) {
  EXPECT_EQ(run("return os.date('!%Y', 0)"), "1970");
  EXPECT_THAT(run("return os.date(('%n'):rep(1000))"), HasSubstr("format is too long"));
}

TEST_F(script, errors_of_dates_name_the_function) {
  EXPECT_THAT(run("return os.date('%Ez', 0)"), HasSubstr("bad argument #1 to 'date'"));
  EXPECT_THAT(run("return os.date({})"), HasSubstr("bad argument #1 to 'date'"));
  EXPECT_THAT(run("return os.time(1)"), HasSubstr("bad argument #1 to 'time'"));
  EXPECT_THAT(run("return os.time({})"), HasSubstr("field 'year' missing"));
  EXPECT_THAT(run("setmetatable(1, {})"), HasSubstr("bad argument #1 to 'setmetatable'"));
}

TEST_F(script, letters_are_changed_as_in_lua) {
  EXPECT_EQ(run("return ('aZ1\\0\\xe9'):upper() == 'AZ1\\0\\xe9', ('aZ1'):lower(), "
                "('abc'):reverse(), (''):upper() == '', string.upper(12)"),
            "true, az1, cba, true, 12");
}

TEST_F(script, load_behaves_as_in_lua) {
  EXPECT_EQ(
      run("local n = 0 return load(function() n = n + 1 return ({'return ', '1', '+2'})[n] end)()"),
      "3");
  EXPECT_EQ(run("return load(function() return nil end)()"), "");
  EXPECT_EQ(run("return load(function() return {} end)"),
            "nil, script:1: reader function must return a string");
  EXPECT_EQ(run("return load('x =')"), "nil, [string \"x =\"]:1: unexpected symbol near <eof>");
  EXPECT_EQ(run("return load('x =', '=name')"), "nil, name:1: unexpected symbol near <eof>");
  EXPECT_EQ(run("return load('return ' .. ('1+'):rep(10000) .. '1')()"), "10001");
  EXPECT_THAT(run("return load('x = 1', 'n', 't', nil)()"), StartsWith("error: "));
  EXPECT_EQ(run("load({})"),
            "error: script:1: bad argument #1 to 'load' (function expected, got table)");
}

TEST_F(script, utf8_is_as_in_lua) {
  EXPECT_EQ(run("local t = {} for p, c in utf8.codes('aé€') do t[#t + 1] = p .. '=' .. c end "
                "return table.concat(t, ' ')"),
            "1=97 2=233 4=8364");
  EXPECT_EQ(run("return utf8.len('aé€'), utf8.offset('aé€', 3), utf8.offset('aé€', -1), "
                "utf8.codepoint('é'), utf8.char(8364)"),
            "3, 4, 4, 233, €");
  EXPECT_EQ(run("return utf8.len('a\\xff')"), "nil, 2");
  EXPECT_EQ(run("for _ in utf8.codes('a\\xff') do end"), "error: script:1: invalid UTF-8 code");
}

}  // namespace
}  // namespace troupe::lua::detail
