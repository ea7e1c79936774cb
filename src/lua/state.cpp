// SPDX-License-Identifier: Apache-2.0

#include "state.hpp"

#include <new>

#include "libraries.hpp"

namespace troupe::lua::detail {
namespace {

int open_all(lua_State* in) {
  open_libraries(in);
  return 0;
}

}  // namespace

state::state(const bounds& allowed)
    : governor_(allowed), lua_(lua_newstate(governor::allocate, &governor_)) {
  if (!lua_) throw std::bad_alloc();
  governor_.govern(main());
  lua_pushcfunction(main(), open_all);
  if (lua_pcall(main(), 0, 0, 0) != LUA_OK) throw std::bad_alloc();
}

}  // namespace troupe::lua::detail
