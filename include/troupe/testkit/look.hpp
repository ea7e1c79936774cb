// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <troupe/actor/ref.hpp>

namespace troupe::testkit {

namespace detail {
/// The actor's object; null: it has none.
[[nodiscard]] const void* object_at_rest(troupe::detail::control_block& of);
}  // namespace detail

/// Reads the state of an actor's object between two turns of a simulation:
/// `look(till, [](const cashier& c) { return c.cents(); })`. Use it in a test, and in conditions
/// for simulation::always(). The result is empty if there is no object: the actor has terminated,
/// or is being restarted. If a handler blocks or is suspended, `f` sees the intermediate state of
/// the object.
///
/// Threads: the thread of the simulation.
/// Errors:  std::logic_error for an actor that does not belong to the simulation on this thread,
///          and within an actor's turn. Exceptions of `f` pass through.
template <class A, class F>
auto look(const ref<A>& at, F&& f)
    -> std::optional<std::remove_cvref_t<std::invoke_result_t<F, const A&>>> {
  const void* const object = detail::object_at_rest(troupe::detail::ref_access::block(at));
  if (object == nullptr) return std::nullopt;
  return std::invoke(std::forward<F>(f), *static_cast<const A*>(object));
}

}  // namespace troupe::testkit
