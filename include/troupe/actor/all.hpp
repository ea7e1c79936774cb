// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>

// Several requests at once, with one deadline for all of them:
//
//   auto [one, other] = co_await troupe::all(50ms, a.ask<balance>(no_timeout),
//                                            b.ask<owner>(no_timeout));
//   auto first = co_await troupe::any(50ms, a.ask<price>(no_timeout), b.ask<price>(no_timeout));
//
// The requests are sent when ask() returns. all() and any() are tasks, so they must be awaited in a
// handler that is a coroutine. A thread calls get() for one request at a time instead.

namespace troupe {

/// Waits for all replies and returns them in the order of the requests; each result is a reply or
/// an error. The deadline shortens the time-outs that the requests were sent with.
///
/// Cost: one more coroutine frame.
template <class... R>
task<std::tuple<ask_result<R>...>> all(duration timeout, ask_future<R>... those) {
  const time_point deadline = later(clock::now(), timeout);
  (those.with_deadline(deadline), ...);
  // The order matters: an initializer list is evaluated from left to right.
  std::tuple<ask_result<R>...> results{co_await std::move(those)...};
  co_return std::move(results);
}

/// As above, for any number of requests with the same type of reply.
template <class R>
task<std::vector<ask_result<R>>> all(duration timeout, std::vector<ask_future<R>> those) {
  const time_point deadline = later(clock::now(), timeout);
  for (auto& each : those) each.with_deadline(deadline);
  std::vector<ask_result<R>> results;
  results.reserve(those.size());
  for (auto& each : those) results.push_back(co_await std::move(each));
  co_return std::move(results);
}

/// The result of any().
template <class R>
struct first_answer {
  std::size_t which;     // index of the request
  ask_result<R> result;  // its reply; or, if no request was answered, the error of the last one
};

namespace detail {

// Resumes when at least one more of the requests is completed.
template <class R>
struct next_of {
  std::vector<ask_future<R>>* those;

  struct awaited {
    std::vector<ask_future<R>>* those;
    handler_frame* who;
    [[nodiscard]] bool await_ready() const {
      bool ready = false;
      for (auto& each : *those) ready = (!each.is_over() && each.decided_in_turn()) || ready;
      return ready;
    }
    void await_suspend(std::coroutine_handle<>) const {
      for (auto& each : *those) {
        if (!each.is_over()) each.wake(*who);
      }
    }
    void await_resume() const noexcept {
      for (auto& each : *those) each.wake_nobody();
    }
  };
  [[nodiscard]] awaited awaited_by(handler_frame& who) const noexcept { return {those, &who}; }
};

}  // namespace detail

/// Returns the first reply; the other requests are not waited for. An error is the result only if
/// all requests fail.
///
/// Cost: one more coroutine frame.
template <class R>
task<first_answer<R>> any(duration timeout, std::vector<ask_future<R>> those) {
  const time_point deadline = later(clock::now(), timeout);
  for (auto& each : those) each.with_deadline(deadline);
  first_answer<R> last{0, ask_error::unanswered};
  for (std::size_t left = those.size(); left != 0;) {
    co_await detail::next_of<R>{&those};
    for (std::size_t i = 0; i < those.size(); ++i) {
      if (those[i].is_over() || !those[i].decided_in_turn()) continue;
      last = {i, those[i].get()};
      if (last.result) co_return std::move(last);
      --left;
    }
  }
  co_return std::move(last);
}

template <class R, std::same_as<ask_future<R>>... More>
task<first_answer<R>> any(duration timeout, ask_future<R> one, More... more) {
  std::vector<ask_future<R>> those;
  those.reserve(1 + sizeof...(more));
  those.push_back(std::move(one));
  (those.push_back(std::move(more)), ...);
  return any(timeout, std::move(those));
}

}  // namespace troupe
