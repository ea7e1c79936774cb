// SPDX-License-Identifier: Apache-2.0

#include "state.hpp"

#include <new>
#include <stdexcept>

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
  const int status = lua_pcall(main(), 0, 0, 0);
  if (status == LUA_ERRMEM) throw std::bad_alloc();
  if (status != LUA_OK) throw std::runtime_error(lua_tostring(main(), -1));
}

}  // namespace troupe::lua::detail
