// SPDX-License-Identifier: Apache-2.0

// The common part of the governors of both engines: memory between runs, and the reasons for users.

#include <algorithm>
#include <chrono>
#include <utility>

#include "governor.hpp"

namespace troupe::lua::detail {

void governor::caught(lua_State* in, int status) {
  if (status == LUA_ERRMEM && verdict_ == verdict::none) verdict_ = verdict::out_of_memory;
  raise_if_killed(in);
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
  // If most of the memory is in use, collecting after each further run would be useless.
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
                 std::chrono::duration_cast<std::chrono::milliseconds>(allowed.run_timeout)
                     .count()) +
             " ms without waiting";
    case governor::verdict::out_of_memory:
      return "needed more than " + std::to_string(allowed.memory_hard) + " bytes of memory";
  }
  return {};
}

}  // namespace troupe::lua::detail
