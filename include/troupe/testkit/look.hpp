// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <troupe/actor/ref.hpp>

namespace troupe::testkit {

namespace detail {
/// Null: there is none at rest.
[[nodiscard]] const void* object_at_rest(troupe::detail::control_block& of);
}  // namespace detail

/// What an actor's object says of itself between two turns of a simulation: `look(till, [](const cashier& c) { return
/// c.cents(); })`, in a test, or in what is always to be true. Nothing if there is no object: the actor has
/// ended, or is being restarted. One whose handler blocks, or waits, is seen as that has left it.
///
/// Threads: that of the simulation.
/// Errors:  std::logic_error for an actor that is not of the simulation on this thread, and within an actor's
///          turn. What `f` throws.
template <class A, class F>
auto look(const ref<A>& at, F&& f)
    -> std::optional<std::remove_cvref_t<std::invoke_result_t<F, const A&>>> {
  const void* const object = detail::object_at_rest(troupe::detail::ref_access::block(at));
  if (object == nullptr) return std::nullopt;
  return std::invoke(std::forward<F>(f), *static_cast<const A*>(object));
}

}  // namespace troupe::testkit
