// SPDX-License-Identifier: Apache-2.0

#include "governor.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include <troupe/base/thread_host.hpp>

namespace troupe::lua::detail {
namespace {

// The time that a step counts as in a simulation.
constexpr duration simulated_step = std::chrono::nanoseconds(10);

// The number of bytes that can be traversed in the time of one step.
constexpr std::size_t bytes_per_step = 64;

// Smaller blocks are not counted: the slowest instruction is assumed to take at least `slowest`.
constexpr std::size_t long_string = 8 * 1024;
constexpr std::size_t long_block = 64 * 1024;
constexpr duration slowest = std::chrono::microseconds(50);

// How long an instruction takes for a block. Measured: '<' of strings of zeros takes 5.6 ns for
// each byte, because the C library compares them piece by piece. next() of an emptied table,
// counting a full table, and copying arguments take 0.04 to 0.1.
constexpr duration time_of(std::size_t string_bytes, std::size_t other_bytes) noexcept {
  return std::chrono::nanoseconds(6 * string_bytes + other_bytes / 8);
}

// A run may exceed its time by this, in addition to the current instruction.
constexpr duration grace = std::chrono::milliseconds(5);

// The error of a killed run. Code that receives it reads the verdict.
const char killed_mark = 0;

void on_count(lua_State* in, lua_Debug*) { governor::of(in).counted(in); }

}  // namespace

governor& governor::of(lua_State* of) noexcept {
  return **static_cast<governor**>(lua_getextraspace(of));
}

void* governor::allocate(void* self, void* block, std::size_t old_bytes,
                         std::size_t bytes) noexcept {
  auto& my = *static_cast<governor*>(self);
  const std::size_t had = block != nullptr ? old_bytes : 0;  // otherwise old_bytes is a type
  if (bytes == 0) {
    if (had >= long_string) (void)my.has_gone(block, had);
    std::free(block);
    my.used_ -= had;
    return nullptr;
  }
  // Shrinking a block must not fail.
  if (bytes > had &&
      bytes - had > my.bounds_.memory_hard - std::min(my.used_, my.bounds_.memory_hard)) {
    return nullptr;
  }
  if (bytes > had && !my.has_time_for(bytes)) return nullptr;
  bool is_string = block == nullptr && old_bytes == LUA_TSTRING;
  if (had >= long_string) is_string = my.has_gone(block, had);
  void* got = std::realloc(block, bytes);
  if (got == nullptr) {
    if (bytes > had) {
      if (had >= long_string) my.has_come(block, had, is_string);
      return nullptr;
    }
    got = block;
  }
  my.used_ = my.used_ - had + bytes;
  my.peak_ = std::max(my.peak_, my.used_);
  if (bytes >= long_string) my.has_come(got, bytes, is_string);
  return got;
}

void governor::govern(lua_State* main) noexcept {
  *static_cast<governor**>(lua_getextraspace(main)) = this;
  main_ = running_ = main;
  lua_sethook(main, on_count, LUA_MASKCOUNT, look_each);
}

// ── Duration of instructions ──────────────────────────────────────────────────────────────────

void governor::has_come(void* block, std::size_t bytes, bool is_string) noexcept {
  if (!is_string && bytes < long_block) return;
  if (is_string) {
    try {
      long_strings_.insert(block);
    } catch (const std::bad_alloc&) {
      is_string = false;  // counted as another block, and removed as one
      if (bytes < long_block) return;
    }
  }
  block_sizes& among = is_string ? strings_ : others_;
  const std::size_t before = among.largest();
  among.add(bytes);
  if (among.largest() > before) look_sooner();
}

// Returns whether it was a string.
bool governor::has_gone(void* block, std::size_t bytes) noexcept {
  const bool is_string = long_strings_.erase(block) != 0;
  if (is_string) {
    strings_.remove(bytes);
  } else if (bytes >= long_block) {
    others_.remove(bytes);
  }
  return is_string;
}

// Returns the number of steps after which the remaining time would be over if each were the slowest
// possible instruction. It is a power of two, so that it seldom changes.
std::size_t governor::window() const noexcept {
  if (over_at_ == time_point::max()) return look_each;
  if (verdict_ != verdict::none) return 1;
  const duration left = std::max(over_at_ - now_, duration::zero()) + grace;
  const auto steps = static_cast<std::size_t>(
      left / std::max(slowest, time_of(strings_.largest(), others_.largest())));
  return steps >= look_each ? look_each : std::max(std::bit_floor(steps), std::size_t{1});
}

// The largest block has grown, and the running script may only just have been checked.
void governor::look_sooner() noexcept {
  if (over_at_ == time_point::max()) return;
  now_ = clock::now();
  window_ = window();
  unlooked_ = std::min(unlooked_, window_);
  count(running_);
}

void governor::count(lua_State* in) noexcept {
  if (static_cast<std::size_t>(lua_gethookcount(in)) != window_) {
    lua_sethook(in, on_count, LUA_MASKCOUNT, static_cast<int>(window_));
  }
}

void governor::watch(lua_State* coroutine) noexcept {
  running_ = coroutine;
  count(coroutine);
}

void governor::counted(lua_State* by) {
  look(by, static_cast<std::size_t>(lua_gethookcount(by)));
  count(by);
}

// ── Checking the clock ────────────────────────────────────────────────────────────────────────

// Called after that number of steps; the last of them may not have been counted.
void governor::read_clock(std::size_t uncounted) noexcept {
  if (over_at_ != time_point::max()) {
    if (troupe::detail::thread_host::here() != nullptr) {
      const std::size_t steps = std::min(window_ - unlooked_ + uncounted, look_each);
      over_at_ -= static_cast<duration::rep>(steps) * simulated_step;
    }
    now_ = clock::now();
    if (verdict_ == verdict::none && now_ >= over_at_) verdict_ = verdict::out_of_time;
  }
  unlooked_ = window_ = window();
}

// Allocated memory is filled, so a table that grows repeatedly takes time that no hook sees. An
// allocation cannot raise an error, but it can be refused; that ends the run as well.
bool governor::has_time_for(std::size_t bytes) noexcept {
  const std::size_t steps = bytes / bytes_per_step;
  if (steps < unlooked_) {
    unlooked_ -= steps;
    return true;
  }
  read_clock(steps);
  return verdict_ == verdict::none;
}

void governor::look(lua_State* by, std::size_t steps) {
  read_clock(steps);
  raise_if_killed(by);
}

void governor::begin(time_point now) noexcept {
  over_at_ = later(now, bounds_.run_timeout);
  now_ = now;
  verdict_ = verdict::none;
  unlooked_ = window_ = window();
  watch(main_);
}

governor::verdict governor::end() noexcept {
  over_at_ = time_point::max();
  unlooked_ = window_ = look_each;
  running_ = main_;
  return std::exchange(verdict_, verdict::none);
}

// ── Errors for lack of memory ─────────────────────────────────────────────────────────────────

void governor::make_room(lua_State* in, std::size_t bytes) {
  if (bytes <= bounds_.memory_hard - std::min(used_, bounds_.memory_hard)) return;
  lua_gc(in, LUA_GCCOLLECT);
  look(in, look_each);
}

void governor::raise(lua_State* in) {
  // Script code that still runs while the error propagates, such as __close, ends at its first
  // instruction.
  window_ = 1;
  count(in);
  lua_pushlightuserdata(in, const_cast<char*>(&killed_mark));
  lua_error(in);
  std::abort();  // unreachable
}

bool governor::was_killed(lua_State* coroutine) noexcept {
  const int status = lua_status(coroutine);
  return status != LUA_OK && status != LUA_YIELD && lua_touserdata(coroutine, -1) == &killed_mark;
}

}  // namespace troupe::lua::detail
