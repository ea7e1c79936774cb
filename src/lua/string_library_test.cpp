// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "lua_comparison.hpp"
#include "script_test.hpp"

namespace troupe::lua::detail {
namespace {

using testing::HasSubstr;

TEST_F(script, strings_are_found) {
  EXPECT_EQ(run("return ('hello'):find('l')"), "3, 3");
  EXPECT_EQ(run("return ('hello'):find('(l)(l)')"), "3, 4, l, l");
  EXPECT_EQ(run("return ('hello'):find('x')"), "nil");
  EXPECT_EQ(run("return ('a.b'):find('.', 2, true)"), "2, 2");
  EXPECT_EQ(run("return ('a.b'):find('.', 2)"), "2, 2");
  EXPECT_EQ(run("return ('abc'):find('b', -1)"), "nil");
  EXPECT_EQ(run("return ('abc'):find('b', -2)"), "2, 2");
  EXPECT_EQ(run("return ('abc'):find('b', -100)"), "2, 2");
  EXPECT_EQ(run("return ('abc'):find('', 4)"), "4, 3");
  EXPECT_EQ(run("return ('abc'):find('', 5)"), "nil");
  EXPECT_EQ(run("return ('abcabc'):find('^b', 2)"), "2, 2");
  EXPECT_EQ(run("return ('abcabc'):find('^b', 3)"), "nil");
  EXPECT_EQ(run("return string.find(1234, 3)"), "3, 3");
  EXPECT_EQ(run("return ('a\\0b'):find('\\0b', 1, true)"), "2, 3");
  EXPECT_EQ(run("return (('ab'):rep(100) .. 'aac'):find('aac')"), "201, 203");
  EXPECT_EQ(run("return ('aab'):rep(50):find('aac')"), "nil");
}

TEST_F(script, strings_are_matched) {
  EXPECT_EQ(run("return ('key = value'):match('(%w+) = (%w+)')"), "key, value");
  EXPECT_EQ(run("return ('key'):match('%w+')"), "key");
  EXPECT_EQ(run("return ('hello'):match('()ll()')"), "3, 5");
  EXPECT_EQ(run("return ('2026-11-23'):match('^(%d+)-(%d+)-(%d+)$')"), "2026, 11, 23");
  EXPECT_EQ(run("return ('  x '):match('^%s*(.-)%s*$') .. '.'"), "x.");
}

TEST_F(script, gmatch_iterates_over_all_matches) {
  constexpr auto all =
      "local function all(...) local t = {} for a, b in string.gmatch(...) do "
      "t[#t + 1] = a .. (b and '=' .. b or '') end return table.concat(t, ',') end ";
  EXPECT_EQ(run(std::string(all) + "return all('one two', '%a+')"), "one,two");
  EXPECT_EQ(run(std::string(all) + "return all('a=1, b=2', '(%w+)=(%w+)')"), "a=1,b=2");
  EXPECT_EQ(run(std::string(all) + "return all('abc', '')"), ",,,");
  EXPECT_EQ(run(std::string(all) + "return all('abc', 'b*')"), ",b,");
  EXPECT_EQ(run(std::string(all) + "return all('one two', '%a+', 3)"), "e,two");
  EXPECT_EQ(run(std::string(all) + "return all('one two', '%a+', 9)"), "");
  EXPECT_EQ(run(std::string(all) + "return all('one two', '%a+', -3)"), "two");
  EXPECT_EQ(run(std::string(all) + "return all('^a a', '^a')"), "^a");
  EXPECT_EQ(run("local f = ('ab'):gmatch('.') return coroutine.wrap(f)(), f(), f()"), "a, b");
}

TEST_F(script, matches_are_replaced) {
  EXPECT_EQ(run("return ('hello world'):gsub('o', '0')"), "hell0 w0rld, 2");
  EXPECT_EQ(run("return ('hello world'):gsub('o', '0', 1)"), "hell0 world, 1");
  EXPECT_EQ(run("return ('hello'):gsub('o', '0', 0)"), "hello, 0");
  EXPECT_EQ(run("return ('hello'):gsub('o', '0', -1)"), "hello, 0");
  EXPECT_EQ(run("return ('hello'):gsub('', '-')"), "-h-e-l-l-o-, 6");
  EXPECT_EQ(run("return ('abc'):gsub('b*', '-')"), "-a-c-, 3");
  EXPECT_EQ(run("return ('hello world'):gsub('(%w+) (%w+)', '%2 %1%%')"), "world hello%, 1");
  EXPECT_EQ(run("return ('abc'):gsub('%w', '%0%0')"), "aabbcc, 3");
  EXPECT_EQ(run("return ('abc'):gsub('()', '%1')"), "1a2b3c4, 4");
  EXPECT_EQ(run("return ('aaa'):gsub('^a', 'b')"), "baa, 1");
  EXPECT_EQ(run("return ('$a $b'):gsub('%$(%w)', {a = 1, b = false})"), "1 $b, 2");
  EXPECT_EQ(run("return ('$a $b'):gsub('%$(%w)', function(x) if x == 'b' then return x end end)"),
            "$a b, 2");
  EXPECT_EQ(run("return ('abc'):gsub('b', 7)"), "a7c, 1");
  EXPECT_EQ(run("return ('a'):rep(5000):gsub('a', 'bc') == ('bc'):rep(5000)"), "true");
}

TEST_F(script, matching_errors_have_the_messages_of_lua) {
  EXPECT_EQ(run("('x'):find()"),
            "error: script:1: bad argument #1 to 'find' (string expected, got no value)");
  EXPECT_EQ(run("local s = string.find('x', '[a')"),
            "error: script:1: malformed pattern (missing ']')");
  EXPECT_EQ(run("local s = ('x'):gsub('x', '%2')"), "error: script:1: invalid capture index %2");
  EXPECT_EQ(run("local s = ('x'):gsub('x', '%a')"),
            "error: script:1: invalid use of '%' in replacement string");
  EXPECT_EQ(run("local s = ('x'):gsub('x', function() return {} end)"),
            "error: script:1: invalid replacement value (a table)");
  EXPECT_EQ(
      run("local s = string.gsub('x', 'x')"),
      "error: script:1: bad argument #3 to 'gsub' (string/function/table expected, got no value)");
  EXPECT_EQ(run("for w in ('x'):gmatch('(') do end"), "error: script:1: unfinished capture");
  EXPECT_EQ(run("return pcall(string.match, 'x', '%')"),
            "false, malformed pattern (ends with '%')");
}

TEST_F(script, errors_in_a_replacement_function_propagate) {
  EXPECT_EQ(run("return pcall(string.gsub, 'x', 'x', function() error({}, 0) end) == false"),
            "true");
  EXPECT_EQ(run("local s = ('x'):gsub('x', function() error('no', 0) end)"), "error: no");
}

TEST_F(script, strings_are_repeated) {
  EXPECT_EQ(run("return ('ab'):rep(3)"), "ababab");
  EXPECT_EQ(run("return ('ab'):rep(3, ', ')"), "ab, ab, ab");
  EXPECT_EQ(run("return ('ab'):rep(1, ', ')"), "ab");
  EXPECT_EQ(run("return ('ab'):rep(0), ('ab'):rep(-1), (''):rep(3, 'x')"), ", , xx");
  EXPECT_EQ(run("return (''):rep(1 << 62), (''):rep(1 << 62, '')"), ", ");
  EXPECT_EQ(run("return #('x'):rep(1000000)"), "1000000");
  EXPECT_EQ(run("local s = ('x'):rep(1 << 62, 'y')"),
            "error: script:1: resulting string too large");
  EXPECT_EQ(run("local s = ('x'):rep({})"),
            "error: script:1: bad argument #1 to 'rep' (number expected, got table)");
}

TEST_F(script, string_format_behaves_as_in_lua) {
  EXPECT_EQ(run("return ('%5.1f|%-5d|%05d|%x'):format(3.14159, 42, 42, 255)"),
            "  3.1|42   |00042|ff");
  EXPECT_EQ(run("return ('%s %s %.2s %%'):format(1, nil, 'abc')"), "1 nil ab %");
  EXPECT_EQ(
      run("return ('%10s|'):format(setmetatable({}, {__tostring = function() return 'me' end}))"),
      "        me|");
  EXPECT_EQ(run("return ('%q'):format('a\\nb')"), "\"a\\\nb\"");
  EXPECT_EQ(run("local s = ('%d'):format('x')"),
            "error: script:1: bad argument #1 to 'format' (number expected, got string)");
  EXPECT_EQ(run("local s = ('%s'):format()"),
            "error: script:1: bad argument #1 to 'format' (no value)");
  EXPECT_THAT(run("local s = ('%y'):format(1)"), HasSubstr("invalid conversion '%y' to 'format'"));
}

TEST_F(script, numbers_are_read_from_strings) {
  EXPECT_EQ(run("return '10' + 1, 2 * '3', -'4', '7' // '2', '2' ^ 2"), "11, 6, -4, 3, 4.0");
  EXPECT_EQ(run("return 'x' + 1"), "error: script:1: attempt to add a 'string' with a 'number'");
}

TEST(string_library, gives_the_same_results_as_lua) {
  lua_comparison both;
  for (const char* text : {"", "x", "abc", "hello world"}) {
    for (lua_Integer i = -4; i < 6; ++i) {
      for (const char* separator : {"", ",", "--"}) {
        both.compare("return string.rep(...)", {text, i, separator});
      }
      for (lua_Integer j = -4; j < 6; ++j) {
        both.compare("return string.sub(...)", {text, i, j});
        both.compare("return string.byte(...)", {text, i, j});
      }
    }
    both.compare("return string.upper(...), string.lower(...), string.reverse(...), #...", {text});
  }
  for (const char* format :
       {"",      "%",      "%%",     "%d",    "%5d|%-5d", "%s",     "%-10s|",
        "%.2s",  "%10.2s", "%s%s%s", "%q",    "%.3q",     "%x%X%o", "%c%c",
        "%5.2f", "%g",     "%a",     "%i",    "%u",       "%y",     "%123d",
        "% d",   "%#x",    "%+d",    "%.99f", "%s %",     "%1$s",   "%s %d %%"}) {
    both.compare("return string.format(...)", {format});
    both.compare("return string.format(...)", {format, lua_Integer{65}, lua_Integer{66}});
    both.compare("return string.format(...)", {format, "text", lua_Integer{66}, "more"});
    both.compare("return string.format(..., nil, true, 1.5)", {format});
    both.compare(
        "return string.format(..., '1', '2.0', setmetatable({}, {__tostring = function() "
        "return 'T' end}))",
        {format});
  }
  for (const char* format :
       {"i4", "z", "s1", "s4", "<i2>i2", "!8i1i8", "d", "c5", "j", "i17", "zz", "x", "Xi4"}) {
    both.compare("return string.pack(...)", {format, lua_Integer{7}, lua_Integer{8}});
    both.compare("return string.pack(...)", {format, "abc", "d"});
    both.compare("return string.packsize(...)", {format});
    for (lua_Integer at = -9; at < 12; at += 3) {
      both.compare("return string.unpack(...)",
                   {format, std::string("\2\0\0\0abcd\0efg\0", 13), at});
    }
  }
}

}  // namespace
}  // namespace troupe::lua::detail
