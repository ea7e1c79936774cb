// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <troupe/actor/channel_handler.hpp>
#include <troupe/actor/select.hpp>
#include <troupe/actor/sending.hpp>
#include <troupe/base/clock.hpp>

namespace troupe {

/// Never defined. The compiler names it when a coroutine builds a case that owns something in the
/// same expression in which it waits: GCC 12 destroys such an object twice. Build the case before,
/// on a line of its own: `auto first = from(channel, …); co_await select_when_ready(first, …)`.
template <class Case>
struct name_the_case_first;

namespace detail {

template <class Case>
inline constexpr bool case_may_be_destroyed_twice = false;
template <class T, class Function>
inline constexpr bool case_may_be_destroyed_twice<receiving_case<T, Function>> =
    !std::is_trivially_destructible_v<Function>;
template <class T, class Held, class Function>
inline constexpr bool case_may_be_destroyed_twice<sending_case<T, Held, Function>> =
    !std::is_trivially_destructible_v<Function> ||
    (std::is_rvalue_reference_v<Held> && may_be_destroyed_twice<T>);

template <class Given>
void check_case() {
  // An lvalue is already in the frame.
  if constexpr (!std::is_lvalue_reference_v<Given> && case_may_be_destroyed_twice<Given>) {
    static_cast<void>(sizeof(name_the_case_first<Given>));
  }
}

/// The result of select_when_ready(); it must be awaited in the same expression.
template <class... Cases>
class [[nodiscard]] selecting {
 public:
  selecting(time_point until, Cases&... cases) noexcept
      : cases_(cases...), all_{&cases...}, wait_(all_, locks_, keeps_, until) {}
  selecting(const selecting&) = delete;
  selecting& operator=(const selecting&) = delete;

  struct awaited {
    selecting* of;
    handler_frame* who;
    [[nodiscard]] bool await_ready() const { return of->wait_.is_decided(); }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<>) const { return of->wait_.wait(*who); }
    selection await_resume() const { return of->take(); }
  };
  [[nodiscard]] awaited awaited_by(handler_frame& who) noexcept { return {this, &who}; }

 private:
  static constexpr std::size_t count = sizeof...(Cases);

  selection take() {
    const auto [what, done] = wait_.take();
    return std::apply([&](Cases&... cases) { return selection_of(what, done, cases...); }, cases_);
  }

  const std::tuple<Cases&...> cases_;
  std::array<channel_case*, count> all_;
  std::array<channel_core*, count> locks_{};
  std::array<handler_in_line::core_in_use, count> keeps_;
  handler_in_line wait_;
};

template <class... Cases>
selecting<std::remove_reference_t<Cases>...> select_in_turn(time_point until, Cases&&... cases) {
  static_assert(
      sizeof...(Cases) != 0,
      "select_when_ready() needs at least one case: from(channel, …) or into(channel, …)");
  (check_case<Cases>(), ...);
  return {until, cases...};
}

}  // namespace detail

/// In a handler that is a coroutine, `co_await select_when_ready(from(a, …), into(b, …))` does what
/// select() does in a thread; the actor handles other messages while the handler is suspended. A
/// time-out may be given as the first argument: `select_when_ready(50ms, from(a, …))`.
///
/// The function of the chosen case runs in the handler, and must not be a coroutine. A value given
/// to into() as an rvalue may be moved from at any time while the handler waits; do not use it
/// until then.
///
/// Threads: the turns of an actor; elsewhere it does not compile.
/// Errors:  if the actor terminates while the handler waits, a value that was already given to it
///          is put back as the oldest value of its channel, and a value to be sent is destroyed
///          with the handler. Throws what the called function throws, after the value has been
///          taken; std::bad_alloc, before that.
/// Cost:    the mutexes of all channels at once; if it waits, also a block from the pool, the
///          mutexes again, once together and once each, and a message from the actor to itself.
template <class... Cases>
  requires(std::is_base_of_v<detail::channel_case, std::remove_cvref_t<Cases>> && ...)
[[nodiscard]] auto select_when_ready(Cases&&... cases) {
  return detail::select_in_turn(time_point::max(), std::forward<Cases>(cases)...);
}
template <class... Cases>
  requires(std::is_base_of_v<detail::channel_case, std::remove_cvref_t<Cases>> && ...)
[[nodiscard]] auto select_when_ready(duration time, Cases&&... cases) {
  return detail::select_in_turn(later(clock::now(), time), std::forward<Cases>(cases)...);
}

}  // namespace troupe
