// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <troupe/actor/spawn_options.hpp>
#include <troupe/detail/actor/actor_type.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/actor/turn_context.hpp>

namespace troupe {

/// Compile error: the arguments of spawn() do not match any constructor of the actor. This type is
/// never defined; the error names it.
template <class Actor, class... Arguments>
struct actor_is_not_constructible_from;

namespace detail {

struct system_access;

template <class... Arguments>
inline constexpr bool starts_with_options = false;
template <class First, class... Rest>
inline constexpr bool starts_with_options<First, Rest...> =
    std::is_same_v<std::remove_cvref_t<First>, spawn_options>;

/// An actor whose slot is allocated and whose object is not yet constructed.
class spawning {
 public:
  /// `options`: null for the defaults.
  spawning(runtime& home, const actor_type& type, const spawn_options* options);
  spawning(const spawning&) = delete;
  spawning& operator=(const spawning&) = delete;
  ~spawning();  // without finish(): the constructor threw

  /// Where to construct the object; null: the system is shutting down, and no actor is made.
  [[nodiscard]] void* object() const noexcept { return is_refused_ ? nullptr : block_->object(); }
  [[nodiscard]] control_block* finish();

 private:
  const bool is_refused_;
  control_block* block_;
  const constructing_scope scope_;
};

}  // namespace detail

}  // namespace troupe
