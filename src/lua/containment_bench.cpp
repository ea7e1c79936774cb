// SPDX-License-Identifier: Apache-2.0

// Measures how long scripts run that have a limit of some milliseconds and try to exceed it: first
// loops of instructions that each take long, then the cost for honest scripts that have long
// strings and large tables.
//
//   containment_bench [--smoke]
//
// Prints one line for each: name, milliseconds.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <lua.hpp>
#include <string>
#include <string_view>

#include "state.hpp"

namespace {

using namespace troupe::lua::detail;

struct script {
  const char* name;
  const char* prepare;
  const char* loop;
};

constexpr const char* strings_of_zeros = "a, b = ('\\0'):rep(%) , ('\\0'):rep(%)";
constexpr const char* strings = "a, b = ('x'):rep(%), ('x'):rep(%)";

constexpr script abuses[] = {
    {"nothing", "", "while true do end"},
    {"coroutines", "", "while true do coroutine.wrap(function() for i = 1, 4000 do end end)() end"},
    {"==", strings, "while a == b do end"},
    {"<=", strings, "while a <= b do end"},
    {"<= of zeros", strings_of_zeros, "while a <= b do end"},
    {"<= in coroutines", strings_of_zeros,
     "while true do coroutine.wrap(function() for i = 1, 100 do if a < b then end end end)() end"},
    {"<= after a string was made", "",
     "local n = 0 while n < 1e6 do n = n + 1 end "
     "local a, b = ('\\0'):rep(%), ('\\0'):rep(%) while a <= b do end"},
    {"rawequal", strings, "while rawequal(a, b) do end"},
    {"sort by rawequal", "t = {} for i = 1, 100 do t[i] = ('x'):rep(%//40) .. i end",
     "while true do pcall(table.sort, t, rawequal) end"},
    {"..", strings, "while true do local c = a .. 'y' end"},
    {"as a key", "t = {}", "while true do t[('x'):rep(%)] = nil local _ = t[('y'):rep(%)] end"},
    {"upper", strings, "while true do a:upper() end"},
    {"a full table", "t = {} for i = 1, 1 << 18 do t[-i] = i end n = 1 << 18",
     "while true do t[-(n - (1 << 18) + 1)] = nil n = n + 1 t[-n] = n end"},
    {"an array, and a key", "t = {} for i = 1, 1 << 20 do t[i] = i end",
     "local n = 0 while true do t[-n] = nil n = n + 1 t[-n] = 1 end"},
    {"next of an emptied table",
     "t = {} for i = 1, 1 << 19 do t[-i] = i end for i = 1, 1 << 19 do t[-i] = nil end",
     "while true do next(t) end"},
    {"move by next",
     "t = {} for i = 1, 1 << 19 do t[i << 20] = i end for i = 1, 1 << 19 do t[i << 20] = nil end",
     "local p = setmetatable({}, {__index = function(_, k) return next(t) end}) "
     "while true do table.move(p, 1, 1000, 1, {}) end"},
    {"many arguments", "t = {} for i = 1, 150000 do t[i] = i end",
     "local function g() end local function f(...) while true do g(...) end end "
     "f(table.unpack(t))"},
};

// Runs the script on its own state. Returns the milliseconds that the run has taken.
double run(const script& which, std::chrono::milliseconds limit, const std::string& bytes,
           std::string& ended) {
  const auto with_size = [&](std::string text) {
    for (auto at = text.find('%'); at != text.npos; at = text.find('%')) text.replace(at, 1, bytes);
    return text;
  };
  state scripts({.run_timeout = limit});
  lua_State* const lua = scripts.main();
  const std::string prepare = with_size(which.prepare);
  const std::string loop = with_size(which.loop);
  if (luaL_dostring(lua, prepare.c_str()) != LUA_OK ||
      luaL_loadstring(lua, loop.c_str()) != LUA_OK) {
    ended = lua_tostring(lua, -1);
    return 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  scripts.governor().begin(troupe::clock::now());
  const int status = lua_pcall(lua, 0, 0, 0);
  const governor::verdict verdict = scripts.governor().end();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  ended = verdict == governor::verdict::out_of_time     ? "out of time"
          : verdict == governor::verdict::out_of_memory ? "out of memory"
          : status != LUA_OK                            ? lua_tostring(lua, -1)
                                                        : "done";
  return took.count();
}

constexpr script honest[] = {
    {"a loop", "", "local n = 0 for i = 1, % do n = n + i end"},
    {"a loop beside 64 KB", "s = ('x'):rep(64 << 10)", "local n = 0 for i = 1, % do n = n + i end"},
    {"a loop beside 1 MB", "s = ('x'):rep(1 << 20)", "local n = 0 for i = 1, % do n = n + i end"},
    {"a loop beside 10 MB", "s = ('x'):rep(10 << 20)", "local n = 0 for i = 1, % do n = n + i end"},
    {"a loop beside 2^20 elements", "t = {} for i = 1, 1 << 20 do t[i] = i end",
     "local n = 0 for i = 1, % do n = n + i end"},
    {"resuming", "",
     "local c = coroutine.wrap(function() while true do coroutine.yield() end end) "
     "for i = 1, % // 500 do c() end"},
    {"strings of 16 KB", "local t = {}",
     "local s = ('x'):rep(16 << 10) for i = 1, % // 100 do local _ = s .. i end"},
};

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  const std::chrono::milliseconds limit{smoke ? 5 : 50};
  std::string ended;
  for (const char* const bytes : {"100000", "1000000", "8000000", "20000000"}) {
    std::printf("strings of %s bytes, limit %d ms\n", bytes, static_cast<int>(limit.count()));
    for (const script& each : abuses) {
      const double took = run(each, limit, bytes, ended);
      std::printf("  %-28s %8.1f ms  %s\n", each.name, took, ended.c_str());
    }
    if (smoke) break;
  }
  std::printf("honest, limit 1000 ms, median of 5\n");
  for (const script& each : honest) {
    double took[5];
    for (double& one : took) {
      one = run(each, std::chrono::seconds(1), smoke ? "1000" : "5000000", ended);
    }
    std::sort(std::begin(took), std::end(took));
    std::printf("  %-28s %8.1f ms  %s\n", each.name, took[2], ended.c_str());
  }
}
