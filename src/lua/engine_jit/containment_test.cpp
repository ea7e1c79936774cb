// SPDX-License-Identifier: Apache-2.0

// The guarantees about a script's limits with LuaJIT, and the available libraries.

#include <stdexcept>

#include "lua/script_test.hpp"

namespace troupe::lua::detail {
namespace {

using testing::HasSubstr;

constexpr auto out_of_time = "killed: ran for more than 50 ms without waiting";

struct way {
  std::string name;
  std::string script;
};

std::string name_of(const testing::TestParamInfo<way>& which) { return which.param.name; }

// ── Time, with the compiler off ───────────────────────────────────────────────────────────────

class interpreted : public script, public testing::WithParamInterface<way> {
 protected:
  interpreted() { run("jit.off()"); }
};

TEST_P(interpreted, is_ended_by_the_time_limit) { EXPECT_EQ(run(GetParam().script), out_of_time); }

INSTANTIATE_TEST_SUITE_P(
    ways, interpreted,
    testing::Values(
        way{"plain", "while true do end"}, way{"empty_goto", "::again:: goto again"},
        way{"recursion", "local function f() return f() end f()"},
        way{"in_pcall", "while true do pcall(function() while true do end end) end"},
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
        way{"comparison",
            "local t = setmetatable({}, {__lt = function() while true do end end}) return t < t"},
        way{"tostring",
            "return tostring(setmetatable({}, {__tostring = function() while true do end end}))"},
        way{"iterator", "for _ in function() return 1 end do end"},
        way{"sort", "table.sort({3, 2, 1, 5, 4}, function() while true do end end)"},
        way{"gsub", "return ('a'):gsub('a', function() while true do end end)"},
        way{"load", "return load(function() while true do end end)"},
        way{"errors_without_end", "while true do pcall(error) end"}),
    name_of);

// ── Time, with the compiler on ────────────────────────────────────────────────────────────────

class jit_compiled_loop : public script, public testing::WithParamInterface<way> {};

TEST_P(jit_compiled_loop, is_interrupted_when_it_allocates) {
  EXPECT_EQ(run(GetParam().script), out_of_time);
}

INSTANTIATE_TEST_SUITE_P(
    ways, jit_compiled_loop,
    testing::Values(
        way{"tables", "while true do t = {1, 2, {}} end"},
        way{"long_strings",
            "local n = 0 while true do n = n + 1 s = ('x'):rep(1000 + n % 1000) .. n end"},
        way{"coroutines", "while true do coroutine.wrap(function() end)() end"}),
    name_of);

TEST_F(script, a_killed_run_does_not_harm_the_next_one) {
  EXPECT_EQ(run("x = 1 while true do t = {} end"), out_of_time);
  EXPECT_EQ(run("local n = 0 for i = 1, 100000 do n = n + i end return x, n"), "1, 5000050000");
}

// ── Memory ────────────────────────────────────────────────────────────────────────────────────

struct memory_limit : script {
  memory_limit() : script({.memory_soft = 1'000'000, .memory_hard = 2'000'000}) {}
  void collect() { lua_gc(state_.main(), LUA_GCCOLLECT); }
};

TEST_F(memory_limit, more_than_the_hard_bound_ends_the_run) {
  constexpr auto out_of_memory = "killed: needed more than 2000000 bytes of memory";
  EXPECT_EQ(run("return ('x'):rep(2000000)"), out_of_memory);
  collect();
  EXPECT_EQ(run("local t = {} while true do t[#t + 1] = {} end"), out_of_memory);
  collect();
  EXPECT_EQ(run("local all = {} while true do all[#all + 1] = ('x'):rep(1000) .. #all end"),
            out_of_memory);
  collect();
  EXPECT_EQ(run("while true do pcall(function() local t = {} while true do t[#t + 1] = {} end end) "
                "end"),
            out_of_memory);
  collect();
  EXPECT_EQ(run("return 1"), "1");
  EXPECT_LE(state_.governor().memory_peak(), 4'000'000U);
}

TEST_F(memory_limit, more_than_twice_that_is_refused) {
  EXPECT_EQ(run("jit.off() return ('x'):rep(5000000)"), "error: not enough memory");
  EXPECT_LE(state_.governor().memory_peak(), 4'000'000U);
}

TEST_F(memory_limit, much_garbage_is_collected_during_a_run) {
  EXPECT_EQ(run("x = {} for i = 1, 5000 do x[i] = {i} end "
                "for i = 1, 100000 do local t = {i, i, i} end return #x"),
            "5000");
}

// ── Errors ────────────────────────────────────────────────────────────────────────────────────

// Counts the existing objects.
struct counted {
  counted() { ++alive; }
  ~counted() { --alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  static inline int alive = 0;
};

int raise_above(lua_State* in) {
  const counted one;
  const std::string other(100, 'x');  // AddressSanitizer reports a leak
  return luaL_error(in, "no %d %s", counted::alive, other.substr(0, 1).c_str());
}

int call_above(lua_State* in) {
  const counted one;
  lua_call(in, lua_gettop(in) - 1, 0);
  return 0;
}

int throw_above(lua_State*) {
  const counted one;
  throw std::runtime_error("thrown");
}

TEST_F(script, errors_run_the_destructors_of_cpp_frames) {
  lua_register(state_.main(), "raise_above", raise_above);
  lua_register(state_.main(), "call_above", call_above);
  lua_register(state_.main(), "throw_above", throw_above);
  EXPECT_EQ(run("return pcall(call_above, raise_above)"), "false, no 2 x");
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(run("for i = 1, 1000 do pcall(call_above, function() raise_above() end) end"), "");
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(run("local c = coroutine.create(function() call_above(raise_above) end) "
                "return coroutine.resume(c)"),
            "false, no 2 x");
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(run("return pcall(call_above, throw_above)"), "false, C++ exception");
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(run("jit.off() return call_above(function() while true do end end)"), out_of_time);
  EXPECT_EQ(counted::alive, 0);
}

// ── Available and unavailable functions ───────────────────────────────────────────────────────

TEST_F(script, functions_that_escape_the_sandbox_are_not_available) {
  for (const char* name : {"io",         "debug",        "package",     "require",    "dofile",
                           "loadfile",   "print",        "ffi",         "newproxy",   "module",
                           "os.execute", "os.exit",      "os.remove",   "os.rename",  "os.tmpname",
                           "os.getenv",  "os.setlocale", "string.dump", "jit.attach", "jit.util"}) {
    EXPECT_EQ(run(std::string("return ") + name), "nil") << name;
  }
}

TEST_F(script, bytecode_is_refused) {
  EXPECT_THAT(run("return load('\\27LJ')"), HasSubstr("attempt to load chunk with wrong mode"));
  EXPECT_THAT(run("return load('\\27LJ', 'x', 'b')"), HasSubstr("wrong mode"));
  EXPECT_THAT(run("return loadstring('\\27LJ')"), HasSubstr("wrong mode"));
  EXPECT_EQ(run("return load('return 7')()"), "7");
  EXPECT_EQ(run("return load('return x', 'name', 't', {x = 8})()"), "8");
}

TEST_F(script, functions_of_later_lua_versions_are_available) {
  EXPECT_EQ(run("return table.unpack({1, 2}), table.pack(1, nil, 3).n"), "1, 3");
  EXPECT_EQ(run("return utf8.char(228, 8364, 128512), utf8.len('äx€'), utf8.codepoint('€')"),
            "ä€😀, 3, 8364");
  EXPECT_EQ(run("return utf8.len('a\\255'), utf8.offset('aäx', 3), utf8.offset('aäx', -1)"),
            "nil, 4, 4");
  EXPECT_EQ(run("local all = {} for at, code in utf8.codes('aä€') do all[#all + 1] = at .. ':' .. "
                "code end return table.concat(all, ' ')"),
            "1:97 2:228 4:8364");
  EXPECT_EQ(
      run("local n = 0 for one in ('aä€'):gmatch(utf8.charpattern) do n = n + 1 end return n"),
      "3");
  EXPECT_THAT(run("for _ in utf8.codes('\\255') do end"), HasSubstr("invalid UTF-8 code"));
  EXPECT_THAT(run("return utf8.char(-1)"), HasSubstr("value out of range"));
}

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
            "error: cannot resume dead coroutine");
  EXPECT_THAT(run("coroutine.resume(1)"), HasSubstr("coroutine expected"));
}

}  // namespace
}  // namespace troupe::lua::detail
