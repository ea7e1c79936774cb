// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/told_of_ends.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/message/handler.hpp>
#include <troupe/message/limits.hpp>
#include <troupe/message/type_identity.hpp>
#include <troupe/message/type_name.hpp>

namespace troupe::detail {

template <class A>
void destroy_actor(void* object) noexcept {
  std::destroy_at(static_cast<A*>(object));
}
template <class A>
void start_actor(void* object) {
  static_assert(!handler_result<decltype(std::declval<A&>().on_start())>::is_coroutine,
                "on_start() cannot be a coroutine: send a message to self(this) instead");
  static_cast<A*>(object)->on_start();
}
template <class A>
void stop_actor(void* object) {
  static_assert(!handler_result<decltype(std::declval<A&>().on_stop())>::is_coroutine,
                "on_stop() cannot be a coroutine: the actor is destroyed as soon as it returns");
  static_cast<A*>(object)->on_stop();
}

/// The argument of on_told(), which a class of the runtime defines if it has an orderly shutdown of
/// its own that stops other actors first. Its end is then brought about by
/// end_after_this_message().
struct told_to_stop {};

template <class A>
void tell_actor_to_stop(void* object) {
  static_cast<A*>(object)->on_told(told_to_stop{});
}

template <class A>
void list_references(const void* object, reference_visitor& visit) {
  static_assert(
      requires(const A& a) { a.references(visit); },
      "references() must be const: it only lists the references that the actor holds");
  if constexpr (requires(const A& a) { a.references(visit); }) {
    static_cast<const A*>(object)->references(visit);
  }
}

template <class A>
constexpr actor_type make_actor_type() noexcept {
  actor_type type{.name = type_name<A>(),
                  .identity = type_identity::of<A>(),
                  .object_bytes = sizeof(A),
                  .object_alignment = alignof(A),
                  .object_offset = object_offset(sizeof(A), alignof(A)),
                  .destroy = destroy_actor<A>,
                  .limited_messages = count_limits<A>(),
                  .on_full = policy_of_class<A>()};
  if constexpr (requires(A& a) { a.on_start(); }) type.on_start = start_actor<A>;
  if constexpr (requires(A& a) { a.on_stop(); }) {
    type.on_stop = stop_actor<A>;
  } else {
    type.ends_silently = std::is_trivially_destructible_v<A>;
  }
  if constexpr (requires(A& a) { a.on_told(told_to_stop{}); }) {
    type.on_told_to_stop = tell_actor_to_stop<A>;
  }
  if constexpr (requires(A& a, reference_visitor& visit) { a.references(visit); }) {
    type.references = list_references<A>;
  }
  if constexpr (understands<A, down>) type.on_down = &down_dispatch_of<A>;
  if constexpr (understands<A, link_down>) type.on_link_down = &link_down_dispatch_of<A>;
  return type;
}

/// The type record of an actor class.
template <class A>
inline constexpr actor_type actor_type_of = make_actor_type<A>();

}  // namespace troupe::detail
