// SPDX-License-Identifier: Apache-2.0

#include "governor.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <troupe/base/thread_host.hpp>

namespace troupe::lua::detail {
namespace {

// What a look counts for in a simulation.
constexpr duration simulated_look = std::chrono::microseconds(100);

// So many bytes may be gone through in the time of one step.
constexpr std::size_t bytes_per_step = 64;
// With more in use the hook looks more often.
constexpr std::size_t little_memory = 1024 * 1024;

void on_count(lua_State* in, lua_Debug*) {
  governor& its = governor::of(in);
  its.watch(in);
  its.spend(in, SIZE_MAX);
}

}  // namespace

governor& governor::of(lua_State* of) noexcept {
  return **static_cast<governor**>(lua_getextraspace(of));
}

void* governor::allocate(void* self, void* block, std::size_t old_bytes,
                         std::size_t bytes) noexcept {
  auto& my = *static_cast<governor*>(self);
  const std::size_t had = block != nullptr ? old_bytes : 0;  // else old_bytes says what it is for
  if (bytes == 0) {
    std::free(block);
    my.used_ -= had;
    return nullptr;
  }
  // Making smaller must not fail.
  if (bytes > had &&
      bytes - had > my.bounds_.memory_hard - std::min(my.used_, my.bounds_.memory_hard)) {
    return nullptr;
  }
  if (bytes > had && !my.has_time_for(bytes)) return nullptr;
  void* const got = std::realloc(block, bytes);
  if (got == nullptr) return bytes <= had ? block : nullptr;
  my.used_ = my.used_ - had + bytes;
  my.peak_ = std::max(my.peak_, my.used_);
  return got;
}

void governor::govern(lua_State* main) noexcept {
  *static_cast<governor**>(lua_getextraspace(main)) = this;
  main_ = main;
  lua_sethook(main, on_count, LUA_MASKCOUNT, look_each);
}

void governor::watch(lua_State* coroutine) noexcept {
  const std::size_t each = used_ <= little_memory
                               ? look_each
                               : std::max(look_each / (used_ / little_memory), look_each_least);
  if (static_cast<std::size_t>(lua_gethookcount(coroutine)) != each) {
    lua_sethook(coroutine, on_count, LUA_MASKCOUNT, static_cast<int>(each));
  }
}

// What is given memory is filled, so a table that grows again and again takes time that no hook sees. Nothing can be raised
// here, but memory can be refused; that ends the run as well.
bool governor::has_time_for(std::size_t bytes) noexcept {
  const std::size_t steps = bytes / bytes_per_step;
  if (steps < unlooked_) {
    unlooked_ -= steps;
    return true;
  }
  unlooked_ = look_each;
  if (over_at_ == time_point::max()) return true;
  if (verdict_ == verdict::none && clock::now() >= over_at_) verdict_ = verdict::out_of_time;
  return verdict_ == verdict::none;
}

void governor::begin(time_point now) noexcept {
  over_at_ = later(now, bounds_.run_time);
  unlooked_ = look_each;
  verdict_ = verdict::none;
}

governor::verdict governor::end() noexcept {
  over_at_ = time_point::max();
  return std::exchange(verdict_, verdict::none);
}

void governor::look(lua_State* by) {
  unlooked_ = look_each;
  if (over_at_ == time_point::max()) return;
  if (troupe::detail::thread_host::here() != nullptr) over_at_ -= simulated_look;
  if (verdict_ == verdict::none && clock::now() >= over_at_) verdict_ = verdict::out_of_time;
  raise_if_killed(by);
}

void governor::caught(lua_State* in, int status) {
  if (status == LUA_ERRMEM && verdict_ == verdict::none) verdict_ = verdict::out_of_memory;
  raise_if_killed(in);
}

void governor::raise(lua_State* in) {
  // Who hears of it looks at the verdict, and not at this.
  lua_pushliteral(in, "killed");
  lua_error(in);
  std::abort();  // it does not return
}

bool governor::collect(lua_State* main) {
  if (used_ <= std::max(bounds_.memory_soft, collect_above_)) {
    if (used_ <= bounds_.memory_soft) {
      warned_ = false;
      collect_above_ = 0;
    }
    return false;
  }
  lua_gc(main, LUA_GCCOLLECT);
  if (used_ <= bounds_.memory_soft) return false;
  // Where most of it is in use, each further run would collect in vain.
  collect_above_ = used_ + used_ / 8;
  return !std::exchange(warned_, true);
}

std::string reason(governor::verdict why, const bounds& allowed) {
  switch (why) {
    case governor::verdict::none:
      break;
    case governor::verdict::out_of_time:
      return "ran for more than " +
             std::to_string(
                 std::chrono::duration_cast<std::chrono::milliseconds>(allowed.run_time).count()) +
             " ms without waiting";
    case governor::verdict::out_of_memory:
      return "needed more than " + std::to_string(allowed.memory_hard) + " bytes of memory";
  }
  return {};
}

}  // namespace troupe::lua::detail
