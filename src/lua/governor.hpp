// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <lua.hpp>
#include <string>

#include <troupe/base/clock.hpp>

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
/// A hook sees each 10,000th instruction of each coroutine, since those inherit it; the more memory is in use, the
/// more often, since there are instructions that go through a whole string or table. Memory that is asked for counts as
/// steps as well. Loops written in C++ that a script can make long report theirs by spend().
///
/// Threads:   as the state: one at a time.
/// Cost:      while a run lasts, the clock is read once in 10,000 instructions or steps; the hook makes the
///            interpreter slower (docs/performance.md). In a simulation, where no time passes meanwhile, each
///            look counts for 100 µs.
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
  /// To be called before a coroutine is resumed.
  void watch(lua_State* coroutine) noexcept;

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
      look(by);
    }
  }

  /// Raises the error of a run that is killed, again.
  void raise_if_killed(lua_State* in) {
    if (verdict_ != verdict::none) raise(in);
  }
  /// A script is about to get hold of an error: kills the run if that says that there is no memory.
  void caught(lua_State* in, int status);

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
  static constexpr std::size_t look_each_least = 100;

  [[nodiscard]] bool has_time_for(std::size_t bytes) noexcept;

  void look(lua_State* by);
  [[noreturn]] void raise(lua_State* in);

  const bounds bounds_;
  lua_State* main_ = nullptr;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::size_t unlooked_ = look_each;
  time_point over_at_ = time_point::max();
  verdict verdict_ = verdict::none;
  bool warned_ = false;
  std::size_t collect_above_ = 0;
};

/// What a user reads: "ran for more than 1000 ms without waiting".
[[nodiscard]] std::string reason(governor::verdict why, const bounds& allowed);

}  // namespace troupe::lua::detail
