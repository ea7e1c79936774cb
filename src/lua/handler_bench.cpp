// SPDX-License-Identifier: Apache-2.0

// Measures the cost of handlers without sockets: one that returns its argument, as JSON, one that
// sleeps once, and some that compute. Serves to compare Lua engines.
//
//   handler_bench [--smoke]
//
// Prints one line for each: name, microseconds per call.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <lua.hpp>
#include <memory>
#include <string>
#include <string_view>

#include <troupe/lua/engine.hpp>

#include "tasks.hpp"
#include "value_codec.hpp"

namespace {

using namespace troupe::lua::detail;

constexpr std::string_view message =
    R"({"id":4711,"method":"move","params":{"player":"ada","to":{"x":12.5,"y":-3.25},"keys":[1,2,3,4,5]}})";

constexpr std::string_view scripts = R"(
function echo(value) return value end
function pause(value) wait() return value end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
function calls() return fib(24) end
function numbers()
  local sum = 0
  for i = 1, 1000000 do sum = sum + i % 7 * 0.5 end
  return sum
end
function tables()
  local all = {}
  for i = 1, 20000 do all[i] = {x = i, y = -i} end
  local sum = 0
  for i = 1, #all do sum = sum + all[i].x - all[i].y end
  return sum
end
function strings()
  local all = {}
  for i = 1, 5000 do all[i] = ('item %d of %s'):format(i, 'list'):upper():sub(3) end
  return #table.concat(all, ',')
end
)";

struct strict final : tasks::observer {
  void handler_failed(const failure& why) noexcept override {
    std::fprintf(stderr, "%s\n", why.traceback.c_str());
    std::abort();
  }
};

/// Writes its result as JSON.
class written final : public ending {
 public:
  void returned(lua_State* in, int first) override {
    text_.clear();
    lua_settop(in, first);
    encode(in, first, encoding::json, text_);
  }
  void failed(const failure&) noexcept override {}

 private:
  std::string text_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  state its({.run_timeout = std::chrono::minutes(1)});
  lua_State* const lua = its.main();
  open_codecs(lua);
  strict failures;
  static tasks* running = nullptr;
  static std::uint64_t waits_for = 0;
  tasks handlers(its, 10, failures);
  running = &handlers;
  lua_register(lua, "wait", [](lua_State* in) {
    waits_for = running->announce_wait(in);
    return tasks::wait(in);
  });
  if (luaL_loadbufferx(lua, scripts.data(), scripts.size(), "=scripts", "t") != LUA_OK ||
      lua_pcall(lua, 0, 0, 0) != LUA_OK) {
    std::fprintf(stderr, "%s\n", lua_tostring(lua, -1));
    return 1;
  }

  std::printf("%s\n", std::string(troupe::lua::engine_name()).c_str());
  const auto measure = [&](const char* name, int rounds) {
    if (smoke) rounds = 2;
    const auto once = [&] {
      const auto push = [&](lua_State* in) {
        lua_getglobal(in, name);
        if (push_decoded(in, message, encoding::json)) std::abort();
        return 1;
      };
      if (handlers.start(push, std::make_unique<written>()) == tasks::outcome::waits) {
        handlers.resume(waits_for, [](lua_State*) { return 0; });
      }
      its.governor().collect(lua);
    };
    for (int i = 0; i < rounds / 10; ++i) once();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) once();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    std::printf("%-8s %10.2f us\n", name, took.count() / rounds);
  };
  measure("echo", 200'000);
  measure("pause", 200'000);
  measure("calls", 100);
  measure("numbers", 50);
  measure("tables", 100);
  measure("strings", 200);
}
