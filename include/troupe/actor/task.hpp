// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

#include <troupe/actor/sending.hpp>
#include <troupe/memory/pool.hpp>
#include <troupe/message/handler.hpp>

namespace troupe {

template <class T = void>
class task;

/// Never defined. The compiler names it, with the type, when a handler awaits what does not go on in
/// a turn of its actor.
template <class Awaited>
struct handlers_cannot_await;

namespace detail {

/// What the runtime keeps of a handler that is a coroutine. The list is its actor's, and the turn's.
struct handler_frame {
  std::coroutine_handle<> coroutine;
  const dispatch* how = nullptr;  // of the message that it handles
  handler_frame* next = nullptr;
  handler_frame* previous = nullptr;
  std::exception_ptr failed;
};

/// Runs a handler until it waits for the first time. Throws what leaves it.
void start_handler(handler_frame& frame);

// What co_await uses in the place of a `sending`, which stays where it is.
struct awaited_sending {
  sending* of;
  handler_frame* who;
  [[nodiscard]] bool await_ready() const noexcept { return of->is_decided(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<>) const { return of->wait(*who); }
  [[nodiscard]] delivery await_resume() const noexcept { return of->became(); }
};

/// What all handlers have in common that are coroutines.
class handler_promise : public handler_frame {
 public:
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    pool_release(frame, bytes);
  }

  // It begins when its actor has taken it over, and stays until that has looked at how it ended.
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] std::suspend_always final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { failed = std::current_exception(); }

  [[nodiscard]] awaited_sending await_transform(sending&& what) noexcept { return {&what, this}; }
  template <class Awaited>
  std::suspend_never await_transform(Awaited&&) const noexcept {
    return static_cast<void>(sizeof(handlers_cannot_await<Awaited>)), std::suspend_never{};
  }
};

}  // namespace detail

/// What a handler returns that is a coroutine: `task<> on(M m)`. It may wait without blocking a
/// thread, with `co_await`; its actor handles other messages meanwhile. So what it has read of the
/// actor before may have changed when it goes on. An actor may have handlers of both kinds, and any
/// number of them may wait.
///
/// Parameters are taken by value: the message ends with the handler, not with its first turn.
///
/// Threads:   a handler goes on in a turn of its actor.
/// Invariant: a handler that waits keeps its actor alive. If the actor ends all the same (stop(), a
///            failure), what waits is destroyed, with its local objects, before on_stop() and before
///            the actor's object.
/// Errors:    an exception that leaves it ends the actor, as one out of any handler.
/// Cost:      its frame is a block from the pool; an actor of which a handler has waited has a side
///            block. What waits is not in the mailbox any more, so that its limits do not count it:
///            a handler that waits for each of its messages can be there as often as messages come.
template <>
class [[nodiscard]] task<void> {
 public:
  class promise_type : public detail::handler_promise {
   public:
    [[nodiscard]] task get_return_object() noexcept {
      coroutine = std::coroutine_handle<promise_type>::from_promise(*this);
      return task(*this);
    }
    void return_void() const noexcept {}
  };

  task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  task& operator=(task other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  /// One that has not begun never will.
  ~task() {
    if (frame_ != nullptr) frame_->coroutine.destroy();
  }

 private:
  friend struct detail::handler_result<task>;
  explicit task(detail::handler_frame& frame) noexcept : frame_(&frame) {}

  detail::handler_frame* frame_;
};

namespace detail {

template <class T>
struct handler_result<task<T>> {
  static constexpr bool is_coroutine = true;
  static void start(task<T> handler) { start_handler(*std::exchange(handler.frame_, nullptr)); }
};

}  // namespace detail
}  // namespace troupe
