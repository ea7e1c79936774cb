// SPDX-License-Identifier: Apache-2.0

// The limits for trusted scripts. Memory is always limited. The time of a run is checked in the
// interpreter, at allocations, and where steps are spent. A compiled loop that does none of these
// is not interrupted.

#include "lua/governor.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <troupe/base/thread_host.hpp>

namespace troupe::lua::detail {
namespace {

// The time that a check counts as in a simulation.
constexpr duration simulated_look = std::chrono::microseconds(100);

// The number of bytes that can be traversed in the time of one step.
constexpr std::size_t bytes_per_step = 64;

// Allocations are refused above this multiple of the hard bound. Below that the run is killed
// instead: when compiled code is refused memory, LuaJIT 2.1.0-beta3 may read a frame that does not
// exist.
constexpr std::size_t refused_above = 2;

void on_count(lua_State* in, lua_Debug*) { governor::of(in).counted(in); }

}  // namespace

governor& governor::of(lua_State* of) noexcept {
  void* self = nullptr;
  lua_getallocf(of, &self);
  return *static_cast<governor*>(self);
}

void* governor::allocate(void* self, void* block, std::size_t old_bytes,
                         std::size_t bytes) noexcept {
  auto& my = *static_cast<governor*>(self);
  const std::size_t had = block != nullptr ? old_bytes : 0;
  if (bytes == 0) {
    std::free(block);
    my.used_ -= had;
    return nullptr;
  }
  const std::size_t most = my.bounds_.memory_hard * refused_above;
  if (bytes > had && bytes - had > most - std::min(my.used_, most)) return nullptr;
  if (bytes > had && my.main_ != nullptr && my.over_at_ != time_point::max()) {
    (void)my.has_time_for(bytes - had);
  }
  void* const got = std::realloc(block, bytes);
  if (got == nullptr) return bytes <= had ? block : nullptr;
  const bool was_little = my.used_ <= my.bounds_.memory_soft;
  my.used_ = my.used_ - had + bytes;
  my.peak_ = std::max(my.peak_, my.used_);
  // LuaJIT does not collect when memory runs out, but when it has grown by a certain factor since
  // the last collection. This call only starts a collection now; it proceeds in steps.
  if (was_little && my.used_ > my.bounds_.memory_soft && my.main_ != nullptr) {
    lua_gc(my.main_, LUA_GCRESTART, 0);
  }
  return got;
}

// All coroutines share one hook.
void governor::govern(lua_State* main) noexcept {
  main_ = main;
  lua_sethook(main, on_count, LUA_MASKCOUNT, look_each);
}

void governor::watch(lua_State*) noexcept {}

// No error can be raised during an allocation. But a hook can be set and a collection started:
// compiled code is left when it collects.
bool governor::has_time_for(std::size_t bytes) noexcept {
  if (verdict_ != verdict::none) return false;
  const std::size_t steps = bytes / bytes_per_step;
  if (steps < unlooked_) {
    unlooked_ -= steps;
  } else {
    unlooked_ = look_each;
    if (clock::now() >= over_at_) verdict_ = verdict::out_of_time;
  }
  if (used_ + bytes > bounds_.memory_hard) verdict_ = verdict::out_of_memory;
  if (verdict_ == verdict::none) return true;
  lua_sethook(main_, on_count, LUA_MASKCOUNT, 1);
  lua_gc(main_, LUA_GCRESTART, 0);
  return false;
}

void governor::begin(time_point now) noexcept {
  over_at_ = later(now, bounds_.run_timeout);
  unlooked_ = look_each;
  verdict_ = verdict::none;
}

governor::verdict governor::end() noexcept {
  over_at_ = time_point::max();
  if (lua_gethookcount(main_) != static_cast<int>(look_each)) {
    lua_sethook(main_, on_count, LUA_MASKCOUNT, look_each);
  }
  return std::exchange(verdict_, verdict::none);
}

void governor::counted(lua_State* by) { look(by, look_each); }

void governor::look(lua_State* by, std::size_t) {
  unlooked_ = look_each;
  if (over_at_ == time_point::max()) return;
  if (troupe::detail::thread_host::here() != nullptr) over_at_ -= simulated_look;
  if (verdict_ == verdict::none && clock::now() >= over_at_) verdict_ = verdict::out_of_time;
  raise_if_killed(by);
}

// The collector runs before memory runs out; see allocate().
void governor::make_room(lua_State*, std::size_t) {}

// All coroutines share one hook, which stays enabled.
bool governor::was_killed(lua_State*) noexcept { return false; }

// LuaJIT's own pcall catches this error. From now on a hook is called at each instruction, so code
// that caught the error is stopped too.
void governor::raise(lua_State* in) {
  lua_sethook(main_, on_count, LUA_MASKCOUNT, 1);
  lua_pushliteral(in, "killed");
  lua_error(in);
  std::abort();  // unreachable
}

}  // namespace troupe::lua::detail
