// SPDX-License-Identifier: Apache-2.0

#include "tasks.hpp"

#include <exception>
#include <new>

#include <troupe/base/clock.hpp>

#include "waiting.hpp"

namespace troupe::lua::detail {
namespace {

// The number of coroutines that are kept for later handlers.
constexpr std::size_t idle_max = 64;

// Its address is the registry key of the value that read() keeps.
const char read_key = 0;

}  // namespace

tasks::~tasks() = default;

// ── Reading ───────────────────────────────────────────────────────────────────────────────────

bool tasks::read(pushing push, ending& then) noexcept {
  const auto keep = [&](lua_State* in) {
    push(in);
    lua_rawsetp(in, LUA_REGISTRYINDEX, &read_key);
    return 0;
  };
  state_.governor().begin(clock::now());
  const bool is_kept = protect(state_.main(), keep);
  const governor::verdict verdict = state_.governor().end();
  if (is_kept && verdict == governor::verdict::none) return true;
  forget_read();
  failure why{
      .why = verdict == governor::verdict::none ? governor::verdict::out_of_memory : verdict,
      .text = {},
      .traceback = {},
      .code = {}};
  try {
    why.text = reason(why.why, state_.governor().allowed());
    why.traceback = why.text;
  } catch (const std::bad_alloc&) {
    // Without a text.
  }
  observer_.handler_failed(why);
  then.failed(why);
  return false;
}

void tasks::push_read(lua_State* to) { lua_rawgetp(to, LUA_REGISTRYINDEX, &read_key); }

// Needs no memory: if there is a value, its key has a place.
void tasks::forget_read() noexcept {
  lua_State* const main = state_.main();
  if (!lua_checkstack(main, 2)) return;
  const int before = lua_gettop(main);
  if (lua_rawgetp(main, LUA_REGISTRYINDEX, &read_key) != LUA_TNIL) {
    lua_pushnil(main);
    lua_rawsetp(main, LUA_REGISTRYINDEX, &read_key);
  }
  lua_settop(main, before);
}

// ── Running ───────────────────────────────────────────────────────────────────────────────────

std::uint64_t tasks::announce_wait(lua_State* in) {
  if (!lua_isyieldable(in) || running_ == nullptr) {
    luaL_error(in,
               "cannot wait here: not while main.lua is loaded, in on_save and on_upgrade, in a "
               "metamethod, an iterator, or a function that sort, gsub or load calls");
  }
  if (waiting_.size() >= waiting_max_) {
    luaL_error(in, "%d handlers are waiting already, which is the limit",
               static_cast<int>(waiting_max_));
  }
  return running_->waits_for = last_wait_ += 2;  // even numbers; odd ones are timers
}

tasks::outcome tasks::run(std::unique_ptr<task> which, int arguments) {
  lua_State* const thread = which->thread;
  task* const before = std::exchange(running_, which.get());
  state_.governor().begin(clock::now());
  state_.governor().watch(thread);
  int results = 0;
  const int status = lua_resume(thread, nullptr, arguments, &results);
  const governor::verdict verdict = state_.governor().end();
  running_ = before;

  if (status == LUA_OK && verdict == governor::verdict::none) {
    give_back(std::move(which));
    return outcome::done;
  }
  if (status == LUA_YIELD && verdict == governor::verdict::none) {
    if (waits(thread)) {
      const std::uint64_t what = which->waits_for;
      waiting_.emplace(what, std::move(which));
      return outcome::waits;
    }
    return fail(std::move(which), verdict,
                "coroutine.yield() must be called inside a coroutine of the script");
  }
  return fail(std::move(which), verdict, nullptr);
}

int tasks::finish(lua_State* in, int, lua_KContext context) {
  auto* const self = reinterpret_cast<tasks*>(context);
  try {
    self->running_->then->returned(in, 1);
  } catch (const std::exception& e) {
    lua_pushstring(in, e.what());
    return lua_error(in);
  }
  return 0;
}

// ── Failing ───────────────────────────────────────────────────────────────────────────────────

tasks::outcome tasks::fail(std::unique_ptr<task> which, governor::verdict verdict,
                           const char* text) {
  const failure why = describe(which->thread, verdict, text);
  if (!governor::was_killed(which->thread)) {
    // Closes its variables, which may run scripts.
    state_.governor().begin(clock::now());
    state_.governor().watch(which->thread);
    lua_resetthread(which->thread);
    state_.governor().end();
  }

  if (!why.code) observer_.handler_failed(why);
  which->then->failed(why);
  give_back(std::move(which));
  return outcome::failed;
}

failure tasks::describe(lua_State* thread, governor::verdict verdict, const char* given) {
  failure why{.why = verdict, .text = "not enough memory", .traceback = {}, .code = {}};
  if (verdict == governor::verdict::none && lua_type(thread, -1) == LUA_TSTRING) {
    why.text = lua_tostring(thread, -1);
  }
  const auto tell = [&](lua_State* in) {
    std::size_t size = 0;
    if (verdict != governor::verdict::none) {
      const std::string text = reason(verdict, state_.governor().allowed());
      lua_pushlstring(in, text.data(), text.size());
    } else if (given != nullptr || !lua_checkstack(thread, 1)) {
      lua_pushstring(in, given);
    } else {
      lua_pushvalue(thread, -1);
      lua_xmove(thread, in, 1);
      if (lua_istable(in, -1)) {
        lua_pushliteral(in, "code");
        lua_rawget(in, -2);
        lua_pushliteral(in, "message");
        lua_rawget(in, -3);
        if (lua_isinteger(in, -2) && lua_type(in, -1) == LUA_TSTRING) {
          why.code = lua_tointeger(in, -2);
          why.text = lua_tostring(in, -1);
          return 0;
        }
        lua_pop(in, 2);
      }
    }
    const char* const text = luaL_tolstring(in, -1, &size);
    why.text.assign(text, size);
    luaL_traceback(in, thread, why.text.c_str(), 0);
    why.traceback = lua_tostring(in, -1);
    return 0;
  };
  // A script's __tostring may run.
  state_.governor().begin(clock::now());
  protect(state_.main(), tell);
  if (state_.governor().end() == governor::verdict::out_of_time &&
      verdict == governor::verdict::none) {
    why.text = "an error whose message took too long to format";
  }
  if (why.traceback.empty()) why.traceback = why.text;
  if (why.text == "not enough memory" && why.why == governor::verdict::none) {
    why.why = governor::verdict::out_of_memory;
  }
  return why;
}

void tasks::drop(std::unique_ptr<task> which, const std::string& why) {
  state_.governor().begin(clock::now());
  state_.governor().watch(which->thread);
  lua_resetthread(which->thread);
  state_.governor().end();
  which->then->failed({.why = governor::verdict::none, .text = why, .traceback = why, .code = {}});
  give_back(std::move(which));
}

// ── Coroutines ────────────────────────────────────────────────────────────────────────────────

std::unique_ptr<tasks::task> tasks::take_idle() {
  if (!idle_.empty()) {
    std::unique_ptr<task> one = std::move(idle_.back());
    idle_.pop_back();
    return one;
  }
  auto one = std::make_unique<task>();
  const auto make = [&](lua_State* in) {
    one->thread = lua_newthread(in);
    one->kept = luaL_ref(in, LUA_REGISTRYINDEX);
    return 0;
  };
  if (!protect(state_.main(), make)) throw std::bad_alloc();
  return one;
}

void tasks::give_back(std::unique_ptr<task> which) noexcept {
  which->then.reset();
  if (lua_status(which->thread) == LUA_OK) lua_settop(which->thread, 0);
  if (idle_.size() < idle_max && lua_status(which->thread) == LUA_OK) {
    try {
      idle_.push_back(std::move(which));
      return;
    } catch (const std::bad_alloc&) {
    }
  }
  if (which) luaL_unref(state_.main(), LUA_REGISTRYINDEX, which->kept);
}

}  // namespace troupe::lua::detail
