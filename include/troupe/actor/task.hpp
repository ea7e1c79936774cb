// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <troupe/actor/sending.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/memory/pool.hpp>
#include <troupe/message/handler.hpp>

namespace troupe {

template <class T = void>
class task;
template <class T = void>
class exclusive_task;

/// Never defined. The compiler names it, with the type, when a handler awaits what does not go on in
/// a turn of its actor.
template <class Awaited>
struct handlers_cannot_await;

namespace detail {

struct request;
template <class Task, class T, bool Exclusive>
struct coroutine_result;

/// What the runtime keeps of a handler that is a coroutine. The list is its actor's, and the turn's.
struct handler_frame {
  std::coroutine_handle<> coroutine;
  std::coroutine_handle<> innermost;  // what goes on: it, or a task that it awaits
  bool goes_on = false;               // at once: a task begins or ends
  bool exclusive = false;
  bool followed = false;            // what it asks has a number: circles.hpp
  bool held_up = false;             // it could go on, but another one is exclusive
  bool waits_for_messages = false;  // and for nothing else: it keeps nobody alive
  request* asked = nullptr;         // owned: who waits for what it returns
  const dispatch* how = nullptr;    // of the message that it handles
  handler_frame* next = nullptr;
  handler_frame* previous = nullptr;
  handler_frame* held_up_next = nullptr;
  std::exception_ptr failed;
  std::uint64_t trace = 0;                                       // to which belongs what it does
  void (*answer)(handler_frame& one, request& asked) = nullptr;  // with what it returned
};

// In the turn of the handler's actor.

/// Runs a handler until it waits for the first time. Throws what leaves it.
void start_handler(handler_frame& frame);

/// What it has waited for is there: it goes on, or, if another one is exclusive, after that. Throws
/// what leaves it.
void resume_handler(handler_frame& frame);

// What co_await uses in the place of a `sending`, which stays where it is.
struct awaited_sending {
  sending* of;
  handler_frame* who;
  [[nodiscard]] bool await_ready() const noexcept { return of->is_decided(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<>) const { return of->wait(*who); }
  [[nodiscard]] delivery await_resume() const noexcept { return of->became(); }
};

/// What can be awaited in a turn, apart from tasks: it says how.
template <class Awaited>
concept awaited_in_a_turn = requires(Awaited& what, handler_frame& who) { what.awaited_by(who); };

template <class T>
class task_promise;

// What co_await uses in the place of a task.
template <class T>
struct awaited_task {
  task_promise<T>* of;
  handler_frame* who;

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> parent) const noexcept { of->begin(*who, parent); }
  T await_resume() const { return of->take_result(); }
};

/// What all coroutines have in common that are handlers, or are awaited by handlers.
class coroutine_promise : public handler_frame {
 public:
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    pool_release(frame, bytes);
  }

  // It begins when its actor, or who awaits it, has taken it over, and stays until that has looked at
  // how it ended.
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  struct at_the_end {
    coroutine_promise* of;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept { of->is_over(); }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] at_the_end final_suspend() noexcept { return {this}; }
  void unhandled_exception() noexcept { failed = std::current_exception(); }

  [[nodiscard]] awaited_sending await_transform(sending&& what) noexcept {
    return {&what, handler_};
  }
  template <class T>
  [[nodiscard]] awaited_task<T> await_transform(task<T>&& what) noexcept {
    TROUPE_EXPECTS(what.promise_ != nullptr, "a task was awaited that has been moved from");
    return {what.promise_, handler_};
  }
  template <class Awaited>
  auto await_transform(Awaited&& what) const {
    if constexpr (awaited_in_a_turn<std::remove_reference_t<Awaited>>) {
      return what.awaited_by(*handler_);
    } else {
      return static_cast<void>(sizeof(handlers_cannot_await<Awaited>)), std::suspend_never{};
    }
  }

  /// It is awaited by a coroutine of that handler. No symmetric transfer, which is no tail call where
  /// nothing is optimised: the handler's loop goes on with it.
  void begin(handler_frame& of, std::coroutine_handle<> parent) noexcept {
    TROUPE_EXPECTS(parent_ == nullptr, "a task was awaited twice");
    handler_ = &of;
    parent_ = parent;
    of.innermost = coroutine;
    of.goes_on = true;
  }

 protected:
  coroutine_promise() = default;
  void is_made(std::coroutine_handle<> made) noexcept { coroutine = innermost = made; }
  void rethrow_failure() {
    if (failed != nullptr) std::rethrow_exception(std::exchange(failed, nullptr));
  }

 private:
  void is_over() noexcept {
    if (parent_ == nullptr) return;
    handler_->innermost = parent_;
    handler_->goes_on = true;
  }

  handler_frame* handler_ = this;  // its own, or of the one that awaits it
  std::coroutine_handle<> parent_;
};

template <class T>
class task_promise : public coroutine_promise {
 public:
  template <class U = T>
    requires std::constructible_from<T, U>
  void return_value(U&& value) {
    result_.emplace(std::forward<U>(value));
  }
  T take_result() {
    rethrow_failure();
    return std::move(*result_);
  }

 private:
  std::optional<T> result_;
};

template <>
class task_promise<void> : public coroutine_promise {
 public:
  void return_void() const noexcept {}
  void take_result() { rethrow_failure(); }
};

/// What task and exclusive_task have in common: a coroutine that has not begun.
template <class Task, class T>
class coroutine_owner {
 public:
  coroutine_owner(coroutine_owner&& other) noexcept
      : promise_(std::exchange(other.promise_, nullptr)) {}
  coroutine_owner& operator=(coroutine_owner&& other) noexcept {
    std::swap(promise_, other.promise_);
    return *this;
  }
  /// One that has not begun never will.
  ~coroutine_owner() {
    if (promise_ != nullptr) promise_->coroutine.destroy();
  }

 protected:
  explicit coroutine_owner(task_promise<T>& promise) noexcept : promise_(&promise) {}

  task_promise<T>* promise_;
};

template <class Task, class T>
class promise_of : public task_promise<T> {
 public:
  [[nodiscard]] Task get_return_object() noexcept {
    this->is_made(std::coroutine_handle<promise_of>::from_promise(*this));
    return Task(*this);
  }
};

}  // namespace detail

/// What a handler returns that is a coroutine: `task<> on(M m)`, or `task<T> on(M m)`, whose T is the
/// reply to who asked. It may wait without blocking a thread, with `co_await`; its actor handles
/// other messages meanwhile. So what it has read of the actor before may have changed when it goes
/// on. An actor may have handlers of both kinds, and any number of them may wait.
///
/// A handler may await other tasks, as functions of its own that wait: `co_await fetch(key)`. What
/// leaves such a one, leaves it where it is awaited.
///
/// Parameters of handlers are taken by value: the message ends with the handler, not with its first
/// turn.
///
/// Threads:   a handler goes on in a turn of its actor.
/// Invariant: a handler that waits keeps its actor alive. If the actor ends all the same (stop(), a
///            failure), what waits is destroyed, with its local objects, before on_stop() and before
///            the actor's object.
/// Errors:    an exception that leaves it ends the actor, as one out of any handler.
/// Cost:      its frame is a block from the pool; an actor of which a handler has waited has a side
///            block. What waits is not in the mailbox any more, so that its limits do not count it:
///            a handler that waits for each of its messages can be there as often as messages come.
template <class T>
class [[nodiscard]] task : public detail::coroutine_owner<task<T>, T> {
 public:
  using promise_type = detail::promise_of<task, T>;

 private:
  friend promise_type;
  friend class detail::coroutine_promise;
  friend struct detail::coroutine_result<task, T, false>;
  using detail::coroutine_owner<task, T>::coroutine_owner;
};

/// The same, but its actor handles nothing else until it is over: messages wait in the mailbox, within
/// its limits, and other handlers that could go on wait as well. So nothing changes that it has read
/// of its actor. It may await tasks.
///
/// Only stop_now(), an overload that fails the actor, and a failure end it before its end; two
/// exclusive handlers that ask each other wait until a time-out, which names them (ask_result::why()).
template <class T>
class [[nodiscard]] exclusive_task : public detail::coroutine_owner<exclusive_task<T>, T> {
 public:
  using promise_type = detail::promise_of<exclusive_task, T>;

 private:
  friend promise_type;
  friend struct detail::coroutine_result<exclusive_task, T, true>;
  using detail::coroutine_owner<exclusive_task, T>::coroutine_owner;
};

namespace detail {

template <class Task, class T, bool Exclusive>
struct coroutine_result {
  static constexpr bool is_coroutine = true;
  using reply = T;

  static void start(Task handler) { start(std::move(handler), nullptr, nullptr); }
  /// What it returns is the answer to `asked`, which it owns from here on.
  static void start(Task handler, request* asked, void (*answer)(handler_frame&, request&)) {
    handler_frame& frame = *std::exchange(handler.promise_, nullptr);
    frame.exclusive = Exclusive;
    frame.asked = asked;
    frame.answer = answer;
    start_handler(frame);
  }
};

template <class T>
struct handler_result<task<T>> : coroutine_result<task<T>, T, false> {};
template <class T>
struct handler_result<exclusive_task<T>> : coroutine_result<exclusive_task<T>, T, true> {};

}  // namespace detail
}  // namespace troupe
