// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <lua.hpp>
#include <string>
#include <unordered_set>

#include <troupe/base/clock.hpp>

#include "block_sizes.hpp"

namespace troupe::lua::detail {

/// Limits of the scripts of one Lua state.
struct bounds {
  /// Memory of the state in bytes. Above the soft bound, garbage is collected after a run. An
  /// allocation beyond the hard bound fails.
  std::size_t memory_soft = 48 * 1024 * 1024;
  std::size_t memory_hard = 64 * 1024 * 1024;
  /// Time of one run: from the moment a script is entered until it returns or waits.
  duration run_timeout = std::chrono::seconds(1);
};

/// Limits what the scripts of one Lua state consume. It is the allocator of the state, and it
/// checks the clock while a run lasts.
///
///   idle ──begin()──▶ running ──over a bound──▶ killed ──end()──▶ idle
///
/// A run is killed if it takes too long, or if its script catches an out-of-memory error. From then
/// on each check raises an error again. The protected calls of scripts pass that error on
/// (base_library.cpp), until the run is over.
///
/// A hook is called every 10,000 instructions of each coroutine; coroutines inherit the hook.
/// Requested memory counts as steps as well. Loops written in C++ whose length a script controls
/// report their steps by spend().
///
/// One instruction may traverse a whole string or table, so it may take as long as a pass over the
/// largest block. The governor therefore tracks the sizes of large blocks. It schedules the next
/// check so that the slowest possible instructions until then exceed the remaining time by at most
/// a grace period.
///
/// Threads:   as the state: one at a time.
/// Invariant: a run ends within its time, the grace period, and two of the slowest instructions.
/// Cost:      while a run lasts, the clock is read once in 10,000 instructions or steps. It is read
///            more often if there are strings of megabytes or the time is nearly over. The hook
///            slows the interpreter down (docs/measurements/containment.md). In a simulation, where
///            no time passes during a run, 10,000 steps count as 100 µs.
class governor {
 public:
  enum class verdict : std::uint8_t { none, out_of_time, out_of_memory };

  explicit governor(const bounds& allowed) noexcept : bounds_(allowed) {}
  governor(const governor&) = delete;
  governor& operator=(const governor&) = delete;

  /// Returns the governor of the state to which the coroutine `of` belongs.
  [[nodiscard]] static governor& of(lua_State* of) noexcept;

  /// The allocator for lua_newstate(). Its first argument is the governor.
  static void* allocate(void* self, void* block, std::size_t old_bytes, std::size_t bytes) noexcept;

  /// Makes this the governor of a new state and of its future coroutines.
  void govern(lua_State* main) noexcept;
  /// Reports which coroutine runs from now on. To be called before a coroutine is resumed, and
  /// afterwards with the coroutine that resumed it.
  void watch(lua_State* coroutine) noexcept;
  /// The same for a script that resumes a coroutine. It checks the clock, because the hook counts
  /// the instructions of each coroutine separately.
  ///
  /// Errors: raises one in `by` if the run is killed.
  void change(lua_State* by, lua_State* coroutine) {
    look(by, 0);
    watch(coroutine);
  }

  void begin(time_point now) noexcept;
  /// Ends the run and returns its verdict.
  verdict end() noexcept;

  /// Reports steps of a loop outside of the interpreter. A step takes about as long as an
  /// instruction.
  ///
  /// Errors: raises one if the run is killed.
  void spend(lua_State* by, std::size_t steps) {
    if (steps < unlooked_) {
      unlooked_ -= steps;
    } else {
      look(by, steps);
    }
  }
  /// Reports instructions that were executed.
  void counted(lua_State* by);

  /// Raises the error of a killed run again.
  void raise_if_killed(lua_State* in) {
    if (verdict_ != verdict::none) raise(in);
  }
  /// A script is about to catch an error. Kills the run if the error is out of memory.
  void caught(lua_State* in, int status);
  /// For Lua's functions that fail for lack of memory without collecting garbage first: collects if
  /// there is not enough room for that number of bytes.
  void make_room(lua_State* in, std::size_t bytes);

  /// Whether the coroutine was killed. Lua has permanently disabled its hooks, so nothing may run
  /// in it any more, not even to close its variables.
  [[nodiscard]] static bool was_killed(lua_State* coroutine) noexcept;

  [[nodiscard]] bool killed() const noexcept { return verdict_ != verdict::none; }
  [[nodiscard]] std::size_t memory() const noexcept { return used_; }
  /// Returns the highest value so far.
  [[nodiscard]] std::size_t memory_peak() const noexcept { return peak_; }
  [[nodiscard]] const bounds& allowed() const noexcept { return bounds_; }

  /// Collects garbage between two runs if memory is above the soft bound. Returns true if it still
  /// is, and was below after the previous collection.
  bool collect(lua_State* main);

 private:
  static constexpr std::size_t look_each = 10'000;

  [[nodiscard]] bool has_time_for(std::size_t bytes) noexcept;
  void read_clock(std::size_t uncounted) noexcept;
  void look(lua_State* by, std::size_t steps);
  [[noreturn]] void raise(lua_State* in);

  void has_come(void* block, std::size_t bytes, bool is_string) noexcept;
  [[nodiscard]] bool has_gone(void* block, std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t window() const noexcept;
  void look_sooner() noexcept;
  void count(lua_State* in) noexcept;

  const bounds bounds_;
  lua_State* main_ = nullptr;
  lua_State* running_ = nullptr;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::size_t window_ = look_each;    // steps between the last check and the next
  std::size_t unlooked_ = look_each;  // the remaining part of it
  time_point over_at_ = time_point::max();
  time_point now_{};  // of the last check
  verdict verdict_ = verdict::none;
  bool warned_ = false;
  std::size_t collect_above_ = 0;

  // The blocks that one instruction may traverse. Lua tells the allocator that a block is a string
  // only when it allocates the block.
  block_sizes strings_;
  block_sizes others_;
  std::unordered_set<const void*> long_strings_;
};

/// The text for users, such as "ran for more than 1000 ms without waiting".
[[nodiscard]] std::string reason(governor::verdict why, const bounds& allowed);

}  // namespace troupe::lua::detail
