// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "lua_comparison.hpp"
#include "script_test.hpp"

namespace troupe::lua::detail {
namespace {

TEST_F(script, elements_are_inserted_and_removed) {
  EXPECT_EQ(run("local t = {1, 2} table.insert(t, 3) table.insert(t, 1, 0) "
                "return table.concat(t, ' ')"),
            "0 1 2 3");
  EXPECT_EQ(run("local t = {1, 2, 3} return table.remove(t), table.remove(t, 1), #t, t[1]"),
            "3, 1, 1, 2");
  EXPECT_EQ(run("return table.remove({}), table.remove({}, 0), table.remove({1}, 2)"),
            "nil, nil, nil");
  EXPECT_EQ(run("local _ = table.insert({}, 3, 'x')"),
            "error: script:1: bad argument #2 to 'insert' (position out of bounds)");
  EXPECT_EQ(run("local _ = table.insert({})"),
            "error: script:1: wrong number of arguments to 'insert'");
  EXPECT_EQ(run("local _ = table.remove({1}, 5)"),
            "error: script:1: bad argument #1 to 'remove' (position out of bounds)");
  EXPECT_EQ(run("local _ = table.insert(1, 2)"),
            "error: script:1: bad argument #1 to 'insert' (table expected, got number)");
}

TEST_F(script, elements_are_moved) {
  EXPECT_EQ(run("return table.concat(table.move({1, 2, 3, 4}, 2, 4, 1), ' ')"), "2 3 4 4");
  EXPECT_EQ(run("return table.concat(table.move({1, 2, 3}, 1, 3, 2), ' ')"), "1 1 2 3");
  EXPECT_EQ(run("return table.concat(table.move({1, 2, 3}, 2, 3, 1, {}), ' ')"), "2 3");
  EXPECT_EQ(run("return #table.move({}, 1, 0, 5)"), "0");
  EXPECT_EQ(run("local _ = table.move({}, 0, math.maxinteger, 1)"),
            "error: script:1: bad argument #3 to 'move' (too many elements to move)");
  EXPECT_EQ(run("local _ = table.move({}, 1, 2, math.maxinteger)"),
            "error: script:1: bad argument #4 to 'move' (destination wrap around)");
}

TEST_F(script, elements_become_text) {
  EXPECT_EQ(run("return table.concat({1, 'a', 2.5}, ', ')"), "1, a, 2.5");
  EXPECT_EQ(run("return table.concat({}), table.concat({1, 2, 3}, '-', 2), "
                "table.concat({1, 2, 3}, '-', 2, 2), table.concat({1}, '', 2)"),
            ", 2-3, 2, ");
  EXPECT_EQ(run("return table.concat({[math.maxinteger] = 'x'}, '', math.maxinteger, "
                "math.maxinteger)"),
            "x");
  EXPECT_EQ(run("local _ = table.concat({1, {}})"),
            "error: script:1: invalid value (table) at index 2 in table for 'concat'");
}

TEST_F(script, elements_are_packed_and_unpacked) {
  EXPECT_EQ(run("return table.unpack({1, nil, 3}, 1, 3)"), "1, nil, 3");
  EXPECT_EQ(run("return select('#', table.unpack({}, 1, 100000))"), "100000");
  EXPECT_EQ(run("return table.pack(1, nil).n, table.unpack({1, 2}, 3)"), "2");
  EXPECT_EQ(run("return table.unpack({[math.mininteger] = 1}, math.mininteger, math.mininteger)"),
            "1");
  EXPECT_EQ(run("local _ = table.unpack({}, 1, 1e8)"),
            "error: script:1: too many results to unpack");
  EXPECT_EQ(run("local _ = table.unpack({}, math.mininteger, math.maxinteger)"),
            "error: script:1: too many results to unpack");
}

TEST_F(script, tables_are_sorted) {
  EXPECT_EQ(run("local t = {3, 1, 2} table.sort(t) return table.concat(t, ' ')"), "1 2 3");
  EXPECT_EQ(run("local t = {'b', 'a', 'c'} table.sort(t, function(x, y) return x > y end) "
                "return table.concat(t, ' ')"),
            "c b a");
  EXPECT_EQ(run("local t = {} for i = 1, 1000 do t[i] = i * 7919 % 1009 end table.sort(t) "
                "for i = 2, 1000 do if t[i - 1] > t[i] then return 'no' end end return 'yes'"),
            "yes");
  EXPECT_EQ(run("local t = {} for i = 1, 1000 do t[i] = i // 300 end table.sort(t) "
                "for i = 2, 1000 do if t[i - 1] > t[i] then return 'no' end end return 'yes'"),
            "yes");
  EXPECT_EQ(run("local _ = table.sort({1, 'x'})"), "error: attempt to compare string with number");
  EXPECT_EQ(run("local _ = table.sort({1, 2, 3, 4, 5, 6}, function() return true end)"),
            "error: script:1: invalid order function for sorting");
  EXPECT_EQ(run("local _ = table.sort({1, 2}, 'x')"),
            "error: script:1: bad argument #2 to 'sort' (function expected, got string)");
}

TEST_F(script, tables_with_metamethods_are_tables) {
  constexpr auto proxy =
      "local function proxy(t) return setmetatable({}, {__index = t, __newindex = t, "
      "__len = function() return #t end}) end ";
  EXPECT_EQ(run(std::string(proxy) + "local t = {3, 1, 2} local p = proxy(t) table.insert(p, 0) "
                                     "table.sort(p) return table.concat(t, ' '), rawlen(p)"),
            "0 1 2 3, 0");
  EXPECT_EQ(run(std::string(proxy) + "return table.concat(proxy({1, 2, 3}), ' '), "
                                     "table.unpack(proxy({4, 5}))"),
            "1 2 3, 4, 5");
  EXPECT_EQ(run("local _ = table.concat(setmetatable({}, {__len = function() return {} end}))"),
            "error: script:1: object length is not an integer");
}

// ── Comparison with Lua's own ─────────────────────────────────────────────────────────────────

TEST(table_library, gives_the_same_results_as_lua) {
  const char* const given = std::getenv("TROUPE_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("TROUPE_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const auto between = [&](lua_Integer first, lua_Integer last) {
    return std::uniform_int_distribution<lua_Integer>(first, last)(random);
  };
  // The first argument is the length of the table. The second says whether it has metamethods,
  // which log the operations on it. The third is the length that it claims.
  const std::string with_table =
      "local size, kind, said = ... local list, log = {}, {} "
      "for i = 1, size do list[i] = (i * 7 % 11) end "
      "local t = list "
      "if kind == 1 then t = setmetatable({}, {__index = list, __newindex = list, __len = "
      "function() "
      "return said end}) "
      "elseif kind == 2 then t = setmetatable({}, {__len = function() return said end, "
      "__index = function(_, k) log[#log + 1] = 'r' .. k return list[k] end, "
      "__newindex = function(_, k, v) log[#log + 1] = 'w' .. k .. '=' .. tostring(v) list[k] = v "
      "end}) "
      "elseif kind == 3 then t = setmetatable(list, {__len = function() return said end}) end "
      "local function shown(...) local all = {} for i = 1, select('#', ...) do "
      "all[i] = tostring((select(i, ...))) end "
      "for i = -3, 30 do all[#all + 1] = tostring(list[i]) end "
      "return table.concat(all, ' ') .. ' ' .. table.concat(log, ' ') end "
      "local function ran(ok, ...) if ok and type((...)) == 'table' then return shown(ok, "
      "select(2, ...)) end "
      "return shown(ok, ...) end ";
  lua_comparison both;
  for (int i = 0; i < 1'500 && !testing::Test::HasFailure(); ++i) {
    const lua_Integer size = between(0, 8);
    const lua_comparison::values table{size, between(0, 3),
                                       size + (between(0, 3) == 0 ? between(-2, 2) : 0)};
    const auto compare = [&](const std::string& call, const lua_comparison::values& more) {
      auto all = table;
      all.insert(all.end(), more.begin(), more.end());
      both.compare(with_table + "return ran(pcall(" + call + "))", all);
    };
    const lua_Integer a = between(-2, 10);
    const lua_Integer b = between(-2, 10);
    const lua_Integer c = between(-2, 10);
    compare("table.insert, t, 'new'", {});
    compare("table.insert, t, select(4, ...), 'new'", {a});
    compare("table.remove, t", {});
    compare("table.remove, t, select(4, ...)", {a});
    compare("table.move, t, select(4, ...)", {a, b, c});
    compare("table.move, t, select(4, ...)", {a, b});
    compare("table.move, t, select(4, ...), select(5, ...), select(6, ...), {}", {a, b, c});
    compare("table.concat, t, ','", {});
    compare("table.concat, t, select(4, ...)", {"-", a, b});
    compare("table.unpack, t, select(4, ...)", {a, b});
    compare("table.unpack, t", {});
    compare("table.pack, t, select(4, ...)", {a, b});
    // The order of a sort's operations is not specified; the comparison function never receives
    // nil.
    if (table[1] != lua_comparison::value{lua_Integer{2}} &&
        table[2] == lua_comparison::value{size}) {
      compare("table.sort, t", {});
      compare("table.sort, t, function(x, y) return x > y end", {});
    }
  }
  for (const char* call :
       {"table.concat('x')",
        "table.unpack('abc', 1, 2)",
        "table.insert('x', 1)",
        "#table.move('x', 1, 2, 1, {})",
        "table.sort(1)",
        "table.remove(nil)",
        "table.move({}, 1, 2, 1, 5)",
        "table.concat({}, {})",
        "table.concat({}, '', 'x')",
        "table.unpack()",
        "table.insert()",
        "table.move({}, 1, 2)",
        "table.insert(setmetatable({}, {__len = function() return 'x' end}), 1)",
        "table.sort(setmetatable({}, {__len = function() return 1 << 31 end}))",
        "table.insert(setmetatable({}, {__len = function() return math.maxinteger end}), 1)",
        "table.insert({}, math.mininteger, 1)",
        "table.remove({}, math.mininteger)",
        "table.move({}, math.mininteger, math.maxinteger, 1)",
        "table.move({}, -5, math.maxinteger, 1)",
        "table.concat(setmetatable({}, {__index = function() return 'x' end}), '', math.maxinteger "
        "- 2, math.maxinteger)"}) {
    both.compare(std::string("local _ = ") + call + " return _", {});
  }
}

}  // namespace
}  // namespace troupe::lua::detail
