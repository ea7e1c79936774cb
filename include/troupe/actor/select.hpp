// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <troupe/actor/channel.hpp>

namespace troupe {

/// Never defined. The compiler names it when the function given to from() cannot be called with a
/// value of the channel, or the function given to into() cannot be called without arguments.
template <class Function, class... Given>
struct select_cannot_call;

/// The result of select().
class selection {
 public:
  enum class outcome : std::uint8_t { taken, timed_out, closed };

  constexpr selection(outcome what, std::size_t which) noexcept : what_(what), which_(which) {}

  /// Returns true if one of the cases was taken.
  explicit constexpr operator bool() const noexcept { return what_ == outcome::taken; }
  /// Returns which case was taken, counted from 0, if one was.
  [[nodiscard]] constexpr std::size_t index() const noexcept { return which_; }
  [[nodiscard]] constexpr bool timed_out() const noexcept { return what_ == outcome::timed_out; }
  /// Returns true if all of the channels are closed and empty.
  [[nodiscard]] constexpr bool closed() const noexcept { return what_ == outcome::closed; }

 private:
  outcome what_;
  std::size_t which_;
};

namespace detail {

template <class... Given, class Function>
void select_calls(Function& then, Given&&... given) {
  if constexpr (!std::is_invocable_v<Function&, Given...>) {
    static_cast<void>(sizeof(select_cannot_call<Function, Given...>));
  } else {
    std::invoke(then, std::forward<Given>(given)...);
  }
}

template <class T, class Function>
class receiving_case : public channel_case {
 public:
  receiving_case(channel_core& from, Function&& then)
      : channel_case{.of = &from, .sends = false}, then_(std::move(then)) {
    value = room_.place();
    tells_end = takes_end;
  }
  receiving_case(const receiving_case&) = delete;
  receiving_case& operator=(const receiving_case&) = delete;

  void was_done() {
    if constexpr (takes_end) {
      select_calls<troupe::received<T>>(then_, std::exchange(at_end, false)
                                                   ? troupe::received<T>(true)
                                                   : troupe::received<T>(room_.take()));
    } else {
      select_calls<T>(then_, room_.take());
    }
  }

 private:
  static constexpr bool takes_end =
      !std::is_invocable_v<Function&, T> && std::is_invocable_v<Function&, troupe::received<T>>;

  value_room<T> room_;
  Function then_;
};

// Held: T; or T&&, for a value that stays with the caller if it is not sent.
template <class T, class Held, class Function>
class sending_case : public channel_case {
 public:
  sending_case(channel_core& to, Held&& what, Function&& then)
      : channel_case{.of = &to, .sends = true},
        value_(std::forward<Held>(what)),
        then_(std::move(then)) {
    value = std::addressof(value_);
    dropped = oldest_.place();
  }
  sending_case(const sending_case&) = delete;
  sending_case& operator=(const sending_case&) = delete;

  void was_done() {
    if (std::exchange(has_dropped, false)) oldest_.value().~T();
    select_calls(then_);
  }

 private:
  value_room<T> oldest_;
  Held value_;
  Function then_;
};

struct do_nothing {
  void operator()() const noexcept {}
};

/// Calls the function that was given for the case that was taken.
template <class... Cases>
selection selection_of(channel_core::progress what, const channel_case* done, Cases&... cases) {
  switch (what) {
    case channel_core::progress::must_wait:
      return {selection::outcome::timed_out, sizeof...(Cases)};
    case channel_core::progress::closed:
      return {selection::outcome::closed, sizeof...(Cases)};
    case channel_core::progress::done:
      break;
  }
  std::size_t which = 0;
  (void)((static_cast<channel_case*>(&cases) == done ? (cases.was_done(), true)
                                                     : (++which, false)) ||
         ...);
  return {selection::outcome::taken, which};
}

}  // namespace detail

/// A case of select(): receives the next value of a channel and calls `then` with it. If `then`
/// takes a received<T>, it is also called at the end: a channel that is closed and empty is then
/// not skipped, but gives an empty received<T>.
template <class T, class Self, class Function>
[[nodiscard]] auto from(const detail::channel_receives<T, Self>& channel, Function then) {
  return detail::receiving_case<T, Function>(
      detail::channel_access::core(static_cast<const Self&>(channel)), std::move(then));
}

/// A case of select(): sends a value when the channel has room, whatever its policy for a full
/// channel is, and then calls `then`. A value given as an rvalue is moved from only if it is sent.
template <class T, class Self, class Function = detail::do_nothing>
[[nodiscard]] auto into(const detail::channel_sends<T, Self>& channel,
                        std::type_identity_t<T>&& value, Function then = {}) {
  return detail::sending_case<T, T&&, Function>(
      detail::channel_access::core(static_cast<const Self&>(channel)), std::move(value),
      std::move(then));
}
template <class T, class Self, class Function = detail::do_nothing>
[[nodiscard]] auto into(const detail::channel_sends<T, Self>& channel,
                        const std::type_identity_t<T>& value, Function then = {}) {
  return detail::sending_case<T, T, Function>(
      detail::channel_access::core(static_cast<const Self&>(channel)), T(value), std::move(then));
}

/// Waits for several channels and receives from, or sends to, exactly one of them; then calls the
/// function of that case, on this thread:
///
///   select(from(orders, [](order o) { … }), from(quits, [](quit) { … }), into(results, r));
///
/// If several cases are ready, one is chosen at random, each with the same probability. Channels
/// that are closed and empty are skipped. A deadline may be given as the first argument:
/// clock::now() + 10ms, or time_point::min() to not wait.
///
/// Threads: any, but not in a handler of an actor on the pool or a pump, unless it does not wait.
/// Errors:  std::logic_error in such a handler. Throws what the called function throws; the value
///          has been received or sent by then.
/// Cost:    the mutexes of all the channels at once, and each once more if it has waited.
template <class... Cases>
  requires(std::is_base_of_v<detail::channel_case, std::remove_cvref_t<Cases>> && ...)
selection select(time_point deadline, Cases&&... cases) {
  constexpr std::size_t count = sizeof...(Cases);
  static_assert(count != 0,
                "select() needs at least one case: from(channel, …) or into(channel, …)");
  std::array<detail::channel_case*, count> all{&cases...};
  std::array<detail::channel_core*, count> locks;
  const auto [what, done] = detail::wait_for_one(all, locks, deadline);
  return detail::selection_of(what, done, cases...);
}
template <class... Cases>
  requires(std::is_base_of_v<detail::channel_case, std::remove_cvref_t<Cases>> && ...)
selection select(Cases&&... cases) {
  return select(time_point::max(), std::forward<Cases>(cases)...);
}

}  // namespace troupe
