// SPDX-License-Identifier: Apache-2.0

// Attempts of a script to exceed its limits.

#include "script_test.hpp"

namespace troupe::lua::detail {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr auto out_of_time = "killed: ran for more than 50 ms without waiting";

struct way {
  std::string name;
  std::string script;
};

class endless : public script, public testing::WithParamInterface<way> {};

TEST_P(endless, is_ended_by_the_time_limit) { EXPECT_EQ(run(GetParam().script), out_of_time); }

INSTANTIATE_TEST_SUITE_P(
    ways, endless,
    testing::Values(
        way{"plain", "while true do end"}, way{"empty_goto", "::again:: goto again"},
        way{"recursion", "local function f() return f() end f()"},
        way{"in_pcall", "while true do pcall(function() while true do end end) end"},
        way{"in_xpcall",
            "while true do xpcall(function() while true do end end, function() while true do end "
            "end) end"},
        way{"handler_of_xpcall", "xpcall(error, function() while true do end end)"},
        way{"in_a_coroutine", "coroutine.wrap(function() while true do end end)()"},
        way{"coroutines_without_end",
            "while true do local c = coroutine.create(function() while true do end end) "
            "coroutine.resume(c) end"},
        way{"made_before",
            "local c = coroutine.create(function() coroutine.yield() while true do end end) "
            "coroutine.resume(c) pcall(coroutine.resume, c) pcall(coroutine.resume, c)"},
        way{"nested_coroutines",
            "local function f() return coroutine.wrap(function() pcall(f) while true do end end)() "
            "end f()"},
        way{"index", "return setmetatable({}, {__index = function() while true do end end}).x"},
        way{"newindex", "setmetatable({}, {__newindex = function() while true do end end}).x = 1"},
        way{"call", "setmetatable({}, {__call = function() while true do end end})()"},
        way{"comparison",
            "local t = setmetatable({}, {__lt = function() while true do end end}) return t < t"},
        way{"tostring",
            "return tostring(setmetatable({}, {__tostring = function() while true do end end}))"},
        way{"length", "return #setmetatable({}, {__len = function() while true do end end})"},
        way{"concat",
            "return setmetatable({}, {__concat = function() while true do end end}) .. 'a'"},
        way{"close",
            "do local x <close> = setmetatable({}, {__close = function() while true do end end}) "
            "end"},
        way{"close_after_the_end",
            "local t = setmetatable({}, {__close = function() while true do end end}) "
            "local a <close> = t local b <close> = t while true do end"},
        way{"closing_a_coroutine",
            "local c = coroutine.create(function() local x <close> = setmetatable({}, {__close = "
            "function() "
            "while true do end end}) coroutine.yield() end) coroutine.resume(c) "
            "while true do coroutine.close(c) pcall(coroutine.close, c) end"},
        way{"iterator", "for _ in function() return 1 end do end"},
        way{"pairs",
            "for _ in pairs(setmetatable({}, {__pairs = function() while true do end end})) do "
            "end"},
        way{"sort", "table.sort({3, 2, 1, 5, 4}, function() while true do end end)"},
        way{"gsub", "return ('a'):gsub('a', function() while true do end end)"},
        way{"load", "return load(function() while true do end end)"},
        way{"a_full_table_whose_keys_are_replaced",
            "local t = {} for i = 1, 1 << 15 do t[-i] = i end local n = 1 << 15 "
            "while true do t[-(n - (1 << 15) + 1)] = nil n = n + 1 t[-n] = n end"},
        way{"comparing_long_strings",
            "local a, b = ('x'):rep(8000000), ('x'):rep(8000000) while a <= b do end"},
        way{"comparing_them_for_equality",
            "local a, b = ('x'):rep(8000000), ('x'):rep(8000000) while a == b do end"},
        way{"comparing_zeros",
            "local a, b = ('\\0'):rep(2000000), ('\\0'):rep(2000000) while a <= b do end"},
        way{"comparing_what_a_coroutine_has_made",
            "local a, b coroutine.wrap(function() a, b = ('\\0'):rep(2000000), "
            "('\\0'):rep(2000000) end)() while a <= b do end"},
        way{"one_coroutine_after_the_other",
            "while true do coroutine.wrap(function() for i = 1, 4000 do end end)() end"},
        way{"an_array_and_one_key",
            "local t, n = {}, 0 for i = 1, 1 << 18 do t[i] = i end "
            "while true do t[-n] = nil n = n + 1 t[-n] = 1 end"},
        way{"next_of_an_emptied_table",
            "local t = {} for i = 1, 1 << 16 do t[-i] = i end for i = 1, 1 << 16 do t[-i] = nil "
            "end "
            "while true do next(t) end"},
        way{"many_arguments",
            "local t = {} for i = 1, 100000 do t[i] = i end local function g() end "
            "local function f(...) while true do g(...) end end f(table.unpack(t))"},
        way{"joining_long_strings",
            "local a = ('x'):rep(4000000) while true do local b = a .. 'y' end"},
        way{"errors_without_end", "while true do pcall(error) end"}),
    [](const auto& which) { return which.param.name; });

TEST_F(script, a_killed_run_does_not_harm_the_next_one) {
  EXPECT_EQ(run("x = 1 while true do end"), out_of_time);
  EXPECT_EQ(run("return x"), "1");
}

TEST_F(script, memory_is_available_between_runs_after_a_killed_run) {
  EXPECT_EQ(run("while true do end"), out_of_time);
  lua_State* const lua = state_.main();
  lua_settop(lua, 0);
  lua_pushcfunction(lua, [](lua_State* in) {
    (void)lua_newuserdata(in, 4'000'000);
    return 0;
  });
  EXPECT_EQ(lua_pcall(lua, 0, 0, 0), LUA_OK);
}

// ── How soon the clock is checked ─────────────────────────────────────────────────────────────

struct check_interval : script {
  check_interval() : script({.run_timeout = std::chrono::seconds(1)}) {
    lua_pushcfunction(state_.main(), [](lua_State* in) {
      lua_pushinteger(in, lua_gethookcount(in));
      return 1;
    });
    lua_setglobal(state_.main(), "until_look");
  }
  /// Returns the number of instructions from one check to the next, as the script counts them.
  int count(const std::string& text) { return std::stoi(run(text)); }
};

TEST_F(check_interval, shrinks_when_a_single_instruction_may_take_long) {
  EXPECT_EQ(count("return until_look()"), 10'000);
  EXPECT_LE(count("local s = ('x'):rep(100000) s = s .. 'y' return until_look()"), 1024);
  EXPECT_LE(count("local t = {} for i = 1, 1 << 20 do t[i] = i end return until_look()"), 128);
  // Comparing 2 MB of zeros takes 12 ms.
  EXPECT_LE(count("local s = ('x'):rep(2000000) return until_look()"), 64);
  EXPECT_LE(count("local s = ('x'):rep(8000000) return until_look()"), 16);
  EXPECT_LE(count("local s local function f() s = ('x'):rep(2000000) end "
                  "coroutine.wrap(f)() return until_look()"),
            64);
  EXPECT_LE(count("local s = ('x'):rep(2000000) local n coroutine.wrap(function() "
                  "n = until_look() end)() return n"),
            64);
}

TEST_F(check_interval, returns_to_the_default_after_large_values_are_collected) {
  run("x = ('x'):rep(2000000)");
  EXPECT_LE(count("return until_look()"), 64);
  run("x = nil");
  lua_gc(state_.main(), LUA_GCCOLLECT);
  EXPECT_EQ(count("return until_look()"), 10'000);
}

// Lua leaves the hooks of a coroutine disabled after an error has left it out of a hook.
TEST_F(script, killed_code_never_runs_again) {
  EXPECT_EQ(run("c = coroutine.create(function() local x <close> = setmetatable({}, {__close = "
                "function() while true do end end}) while true do end end) coroutine.resume(c)"),
            out_of_time);
  EXPECT_EQ(run("return coroutine.status(c), coroutine.resume(c)"),
            "dead, false, cannot resume dead coroutine");
  EXPECT_EQ(run("return pcall(coroutine.close, c)"),
            "false, cannot close a coroutine that was killed");
  EXPECT_EQ(run("coroutine.wrap(function() local x <close> = setmetatable({}, {__close = "
                "function() while true do end end}) while true do end end)()"),
            out_of_time);
  EXPECT_EQ(run("pcall(function() local x <close> = setmetatable({}, {__close = "
                "function() while true do end end}) while true do end end)"),
            out_of_time);
  EXPECT_EQ(
      run("local function f(n) local x <close> = setmetatable({}, {__close = function() "
          "while true do end end}) if n > 0 then f(n - 1) end while true do end end pcall(f, 150)"),
      out_of_time);
}

TEST_F(script, a_caught_error_does_not_fail_the_run) {
  EXPECT_EQ(run("return pcall(error, 'no')"), "false, no");
  EXPECT_EQ(run("return xpcall(error, function(e) return e .. '!' end, 'no')"), "false, no!");
  EXPECT_EQ(run("return pcall(function(...) return ... end, 1, nil, 3)"), "true, 1, nil, 3");
}

struct memory_limit : script {
  // Memory must end these, even on a slow host.
  memory_limit()
      : script({.memory_soft = 1'000'000,
                .memory_hard = 2'000'000,
                .run_timeout = std::chrono::minutes(1)}) {}
};

TEST_F(memory_limit, more_than_the_hard_bound_fails) {
  EXPECT_EQ(run("return ('x'):rep(3000000)"), "error: not enough memory");
  EXPECT_EQ(run("local t = {} while true do t[#t + 1] = {} end"), "error: not enough memory");
  EXPECT_EQ(run("return 1"), "1");
}

TEST_F(memory_limit, lack_of_memory_is_not_caught) {
  EXPECT_THAT(run("while true do pcall(string.rep, 'x', 3000000) end"), StartsWith("killed: "));
  EXPECT_THAT(run("local c = coroutine.wrap(function() return ('x'):rep(3000000) end) while true "
                  "do pcall(c) end"),
              StartsWith("killed: "));
  EXPECT_THAT(run("local c = coroutine.create(function() return ('x'):rep(3000000) end) "
                  "coroutine.resume(c)"),
              StartsWith("killed: "));
  EXPECT_EQ(run("return 1"), "1");
}

TEST_F(memory_limit, lack_of_memory_in_a_buffer_of_luas_is_not_caught) {
  run("x = ('x'):rep(500000)");
  EXPECT_THAT(run("while true do pcall(string.format, '%s%s%s%s%s', x, x, x, x, x) end"),
              StartsWith("killed: needed more"));
  EXPECT_THAT(run("xpcall(string.pack, function() return 'other' end, 'zzzzz', x, x, x, x, x)"),
              StartsWith("killed: needed more"));
  EXPECT_THAT(run("coroutine.resume(coroutine.create(string.pack), 'zzzzz', x, x, x, x, x)"),
              StartsWith("killed: needed more"));
}

TEST_F(memory_limit, garbage_is_collected_to_make_room_for_new_values) {
  EXPECT_EQ(
      run("x = ('x'):rep(400000) for i = 1, 20 do local s = ('%s%d'):format(x, i) s = s:upper() "
          "s = s:reverse() s = string.pack('s4', x) end return #x"),
      "400000");
}

TEST_F(memory_limit, collect_frees_large_garbage) {
  run("x = ('x'):rep(500000) for i = 1, 100 do local y = ('y'):rep(500000 + i) end");
  EXPECT_FALSE(state_.governor().collect(state_.main()));
  EXPECT_LT(state_.governor().memory(), 1'000'000U);
}

TEST_F(memory_limit, low_memory_is_reported_once_until_memory_is_freed) {
  EXPECT_EQ(run("x = ('x'):rep(600000) y = ('y'):rep(600000)"), "");
  EXPECT_TRUE(state_.governor().collect(state_.main()));
  EXPECT_FALSE(state_.governor().collect(state_.main()));
  run("x = nil");
  lua_gc(state_.main(), LUA_GCCOLLECT);
  EXPECT_FALSE(state_.governor().collect(state_.main()));
  run("x = ('x'):rep(600000)");
  EXPECT_TRUE(state_.governor().collect(state_.main()));
}

TEST(state, without_room_for_the_libraries_it_cannot_be_made) {
  EXPECT_THROW(state({.memory_soft = 1'000, .memory_hard = 1'000}), std::bad_alloc);
  EXPECT_THROW(state({.memory_soft = 10'000, .memory_hard = 10'000}), std::bad_alloc);
}

// ── Functions that are not available ──────────────────────────────────────────────────────────

TEST_F(script, unsafe_library_functions_are_not_available) {
  for (const char* name : {"io", "debug", "package", "require", "dofile", "loadfile", "print",
                           "warn", "os.execute", "os.exit", "os.remove", "os.rename", "os.tmpname",
                           "os.getenv", "os.setlocale", "string.dump"}) {
    EXPECT_EQ(run(std::string("return ") + name), "nil") << name;
  }
}

TEST_F(script, bytecode_is_refused) {
  EXPECT_THAT(run("return load('\\27Lua')"),
              HasSubstr("attempt to load a binary chunk (mode is 't')"));
  EXPECT_THAT(run("return load('\\27Lua', 'x', 'b')"), HasSubstr("attempt to load a binary chunk"));
  EXPECT_EQ(run("return load('return 7')()"), "7");
  EXPECT_EQ(run("return load('return x', 'name', 't', {x = 8})()"), "8");
}

struct unhurried : script {
  unhurried() : script({.run_timeout = std::chrono::seconds(1)}) {}
};

TEST_F(unhurried, finalisers_are_refused) {
  EXPECT_THAT(run("return setmetatable({}, {__gc = function() end})"),
              HasSubstr("finalisers (__gc)"));
  EXPECT_THAT(run("return setmetatable({}, {__gc = false})"), HasSubstr("finalisers (__gc)"));
  EXPECT_EQ(run("local m = {} setmetatable({}, m) m.__gc = function() x = 1 end "
                "for i = 1, 1000 do local t = ('x'):rep(10000) end return x"),
            "nil");
}

// A chain of weak keys is collected in quadratic time by one step that no hook interrupts. So there
// must be no weak keys, however a metatable gets its __mode.
TEST_F(unhurried, keys_are_never_weak) {
  for (const char* mode : {"k", "kv", "vk", "strong", ""}) {
    EXPECT_THAT(run("return setmetatable({}, {__mode = '" + std::string(mode) + "'})"),
                HasSubstr("applications must not use weak keys"))
        << mode;
  }
  EXPECT_THAT(run("return setmetatable({}, {__mode = 1})"), HasSubstr("must not use weak keys"));
  for (const char* later :
       {"m.__mode = 'k'", "rawset(m, '__mode', 'k')", "m[('__%s'):format('mode')] = 'k'",
        "load('__mode = \"k\"', 'x', 't', m)()",
        "for k, v in pairs({__mode = 'k'}) do m[k] = v end", "m[troupe_mode] = 'k'"}) {
    SCOPED_TRACE(later);
    run("troupe_mode = '__mode' m = {} t = setmetatable({}, m) u = setmetatable({}, m) t[{}] = {} "
        "u[{}] = 1 " +
        std::string(later) + " t[{}] = 2");
    lua_gc(state_.main(), LUA_GCCOLLECT);
    EXPECT_EQ(run("local n = 0 for _ in next, t do n = n + 1 end for _ in next, u do n = n + 1 end "
                  "return n, m.__mode"),
              "3, k");
  }
}

TEST_F(unhurried, values_can_be_weak) {
  run("mine = {__mode = 'v'} t = setmetatable({}, mine) kept = {} t[1] = {} t.kept = kept");
  lua_gc(state_.main(), LUA_GCCOLLECT);
  EXPECT_EQ(run("return t[1], t.kept == kept"), "nil, true");
  EXPECT_EQ(run("return getmetatable(t)"), "weak values");
  EXPECT_THAT(run("setmetatable(t, {})"), HasSubstr("cannot change a protected metatable"));
  EXPECT_THAT(run("setmetatable({}, {__mode = 'v', __index = {}})"),
              HasSubstr("must not have other fields"));
  EXPECT_THAT(run("setmetatable({}, {__mode = 'v', 1})"), HasSubstr("must not have other fields"));
  // Later changes of the script's own metatable have no effect.
  EXPECT_EQ(run("mine.__mode = 'k' mine.__index = {a = 1} return t.a"), "nil");
  run("u = setmetatable({}, {__mode = 'v'}) u[{}] = kept");
  lua_gc(state_.main(), LUA_GCCOLLECT);
  EXPECT_EQ(run("return next(u) ~= nil"), "true");
}

TEST_F(script, garbage_can_be_counted_only) {
  EXPECT_THAT(run("return collectgarbage('count') > 1"), "true");
  EXPECT_THAT(run("collectgarbage('stop')"), HasSubstr("invalid option 'stop'"));
  EXPECT_THAT(run("collectgarbage()"), HasSubstr("string expected, got no value"));
}

// ── Coroutines of the script's own ────────────────────────────────────────────────────────────

TEST_F(script, coroutines_are_as_in_lua) {
  EXPECT_EQ(run("local c = coroutine.create(function(a, b) local d = coroutine.yield(a + b) return "
                "d * 2 end) "
                "local _, x = coroutine.resume(c, 1, 2) local _, y = coroutine.resume(c, 5) "
                "return x, y, coroutine.status(c), coroutine.resume(c)"),
            "3, 10, dead, false, cannot resume dead coroutine");
  EXPECT_EQ(run("local w = coroutine.wrap(function(...) return select('#', ...), "
                "coroutine.yield(...) end) "
                "local a, b = w('x', 'y') return a, b, w('z')"),
            "x, y, 2, z");
  EXPECT_EQ(run("return coroutine.resume(coroutine.create(function() error('no', 0) end))"),
            "false, no");
  EXPECT_EQ(run("return pcall(coroutine.wrap(function() error({}, 0) end)) == false"), "true");
  EXPECT_EQ(run("local w = coroutine.wrap(function() end) w() w()"),
            "error: script:1: cannot resume dead coroutine");
  EXPECT_EQ(run("coroutine.resume(1)"),
            "error: script:1: bad argument #1 to 'resume' (coroutine expected, got number)");
}

}  // namespace
}  // namespace troupe::lua::detail
