// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>

namespace troupe::lab {

/// A minimal coroutine: it suspends at its beginning and at its end, and its owner resumes and
/// destroys it.
struct routine {
  struct promise_type {
    routine get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

}  // namespace troupe::lab
