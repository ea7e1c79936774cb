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

/// How much scripts of one Lua state may take.
struct bounds {
  /// Bytes of the state. Above the first, garbage is collected after a run; what goes beyond the second fails.
  std::size_t memory_soft = 48 * 1024 * 1024;
  std::size_t memory_hard = 64 * 1024 * 1024;
  /// Of one run: from when a script is entered until it returns or waits.
  duration run_time = std::chrono::seconds(1);
};

/// Bounds what the scripts of one Lua state take: it is the state's allocator, and looks at the clock
/// while a run lasts.
///
///   idle ──begin()──▶ running ──over a bound──▶ killed ──end()──▶ idle
///
/// What runs too long, or has caught an error for lack of memory, is killed: each look raises an error again,
/// and the protected calls that scripts have let that through (base_library.cpp), until the run is over.
///
/// A hook sees each 10,000th instruction of each coroutine, since those inherit it. Memory that is asked for counts as
/// steps as well. Loops written in C++ that a script can make long report theirs by spend().
///
/// An instruction may go through a whole string or table, and so last for as long as the largest there is takes. Large
/// blocks are counted, and the next look comes before so many of the slowest instructions that there can be would
/// exceed the time that is left, by more than a grace.
///
/// Threads:   as the state: one at a time.
/// Invariant: a run ends within its time, the grace, and two of the slowest instructions.
/// Cost:      while a run lasts, the clock is read once in 10,000 instructions or steps, more often beside strings of
///            megabytes and when the time is nearly over; the hook makes the interpreter slower
///            (docs/performance.md). In a simulation, where no time passes meanwhile, 10,000 steps
///            count for 100 µs.
class governor {
 public:
  enum class verdict : std::uint8_t { none, out_of_time, out_of_memory };

  explicit governor(const bounds& allowed) noexcept : bounds_(allowed) {}
  governor(const governor&) = delete;
  governor& operator=(const governor&) = delete;

  /// The one of the state that `of` is a coroutine of.
  [[nodiscard]] static governor& of(lua_State* of) noexcept;

  /// For lua_newstate(), with the governor as its first argument.
  static void* allocate(void* self, void* block, std::size_t old_bytes, std::size_t bytes) noexcept;

  /// Makes it the governor of a new state and of the coroutines to come.
  void govern(lua_State* main) noexcept;
  /// From now on it is this coroutine that runs: to be called before one is resumed, and for who has resumed it
  /// when that is over.
  void watch(lua_State* coroutine) noexcept;
  /// The same, for a script that resumes one: looks at the clock, since instructions of one are no instructions of
  /// another.
  ///
  /// Errors: raises one in `by` if the run is killed.
  void change(lua_State* by, lua_State* coroutine) {
    look(by, 0);
    watch(coroutine);
  }

  void begin(time_point now) noexcept;
  /// Ends the run, and returns what had become of it.
  verdict end() noexcept;

  /// So many steps of a loop that is not the interpreter's; about as long as an instruction each.
  ///
  /// Errors: raises one if the run is killed.
  void spend(lua_State* by, std::size_t steps) {
    if (steps < unlooked_) {
      unlooked_ -= steps;
    } else {
      look(by, steps);
    }
  }
  /// So many instructions have gone by.
  void counted(lua_State* by);

  /// Raises the error of a run that is killed, again.
  void raise_if_killed(lua_State* in) {
    if (verdict_ != verdict::none) raise(in);
  }
  /// A script is about to get hold of an error: kills the run if that says that there is no memory.
  void caught(lua_State* in, int status);
  /// For functions of Lua's that would fail where garbage could go: collects if there is not room for so many bytes.
  void make_room(lua_State* in, std::size_t bytes);

  /// Whether it is a coroutine that was killed. Lua has left its hooks off, for good: nothing may run in it any more, not
  /// even to close its variables.
  [[nodiscard]] static bool was_killed(lua_State* coroutine) noexcept;

  [[nodiscard]] bool killed() const noexcept { return verdict_ != verdict::none; }
  [[nodiscard]] std::size_t memory() const noexcept { return used_; }
  /// The most that there was.
  [[nodiscard]] std::size_t memory_peak() const noexcept { return peak_; }
  [[nodiscard]] const bounds& allowed() const noexcept { return bounds_; }

  /// Between two runs: collects garbage if there is more than the soft bound. True if there still is, for the
  /// first time since there was not.
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
  std::size_t window_ = look_each;    // steps from the last look to the next
  std::size_t unlooked_ = look_each;  // what is left of it
  time_point over_at_ = time_point::max();
  time_point now_{};  // of the last look
  verdict verdict_ = verdict::none;
  bool warned_ = false;
  std::size_t collect_above_ = 0;

  // What an instruction may go through. Lua says of a block that it is a string's when it asks for it, and never
  // again.
  block_sizes strings_;
  block_sizes others_;
  std::unordered_set<const void*> long_strings_;
};

/// What a user reads: "ran for more than 1000 ms without waiting".
[[nodiscard]] std::string reason(governor::verdict why, const bounds& allowed);

}  // namespace troupe::lua::detail
