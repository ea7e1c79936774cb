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

/// Never defined. The compiler names it when what from() is given cannot be called with a value of the
/// channel, or what into() is given cannot be called with nothing.
template <class Function, class... Given>
struct select_cannot_call;

/// What select() has done.
class selection {
 public:
  enum class outcome : std::uint8_t { taken, timed_out, closed };

  constexpr selection(outcome what, std::size_t which) noexcept : what_(what), which_(which) {}

  /// One of them was taken.
  explicit constexpr operator bool() const noexcept { return what_ == outcome::taken; }
  /// Which one, counted from 0, if one was.
  [[nodiscard]] constexpr std::size_t index() const noexcept { return which_; }
  [[nodiscard]] constexpr bool timed_out() const noexcept { return what_ == outcome::timed_out; }
  /// All of the channels are closed, and empty.
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

// Held: T, or T&& of one that stays with the caller if it is not sent.
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

/// Calls what was given for the one that was done.
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

/// For select(): the next value of a channel, and what is done with it. If that takes a received<T>, it
/// is told of the end as well: a channel that is closed, and empty, is then not left out, but gives none.
template <class T, class Self, class Function>
[[nodiscard]] auto from(const detail::channel_receives<T, Self>& channel, Function then) {
  return detail::receiving_case<T, Function>(
      detail::channel_access::core(static_cast<const Self&>(channel)), std::move(then));
}

/// For select(): a value that a channel takes when it has room, whatever it was made to do when it is
/// full; and what is done then. Given as an rvalue it is moved from only if it was taken.
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

/// Waits for several channels and takes from, or gives to, exactly one of them; then calls what was
/// given for it, on this thread:
///
///   select(from(orders, [](order o) { … }), from(quits, [](quit) { … }), into(results, r));
///
/// If several are ready it takes any, each with the same chance. One that is closed, and empty, is left
/// out. A deadline may come first: clock::now() + 10ms, or time_point::min() for not waiting.
///
/// Threads: any, but not in a handler of an actor on the pool or a pump, unless it does not wait.
/// Errors:  std::logic_error there. What the called one throws; the value has been taken then.
/// Cost:    the mutexes of all the channels at once, and each once more if it has waited.
template <class... Cases>
  requires(std::is_base_of_v<detail::channel_case, std::remove_cvref_t<Cases>> && ...)
selection select(time_point deadline, Cases&&... cases) {
  constexpr std::size_t count = sizeof...(Cases);
  static_assert(count != 0,
                "select() is given what it waits for: from(channel, …), into(channel, …)");
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
