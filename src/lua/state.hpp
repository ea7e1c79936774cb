// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>
#include <memory>

#include "governor.hpp"

namespace troupe::lua::detail {

/// One Lua state with only the libraries that scripts may use (see libraries.hpp).
///
/// Threads: one at a time.
/// Errors:  the constructor throws std::bad_alloc if the bounds leave no room for the libraries.
class state {
 public:
  explicit state(const bounds& allowed);

  [[nodiscard]] lua_State* main() const noexcept { return lua_.get(); }
  [[nodiscard]] detail::governor& governor() noexcept { return governor_; }

 private:
  struct closing {
    void operator()(lua_State* which) const noexcept { lua_close(which); }
  };

  detail::governor governor_;
  std::unique_ptr<lua_State, closing> lua_;
};

}  // namespace troupe::lua::detail
