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
#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/message/handler.hpp>

namespace troupe {

template <class T = void>
class task;
template <class T = void>
class exclusive_task;

/// Compile error: a handler awaits an object that cannot be awaited in a turn of its actor. This
/// type is never defined; the error names it.
template <class Awaited>
struct handlers_cannot_await;

namespace detail {

struct request;
struct waiter;
template <class Task, class T, bool Exclusive>
struct coroutine_result;

/// The runtime's state for a handler that is a coroutine. It is linked into a list of its actor,
/// and accessed only by the actor's current turn.
struct handler_frame {
  std::coroutine_handle<> coroutine;
  std::coroutine_handle<> innermost;  // to be resumed: the handler, or a task that it awaits
  bool goes_on = false;               // immediately: a task begins or ends
  bool exclusive = false;
  bool takes_nothing = false;  // while it is suspended: the handler is exclusive, or a function
  bool followed = false;       // its requests have a number: request_cycles.hpp
  bool held_up = false;        // it is ready to continue, but another handler is exclusive
  bool waits_for_messages = false;  // and for nothing else: it does not keep its actor alive
  request* asked = nullptr;         // owned: the request that its return value answers
  waiter* callback = nullptr;       // of ask_future::then(): the reply that it waits for
  const dispatch* how = nullptr;    // of the message that it handles
  handler_frame* next = nullptr;
  handler_frame* previous = nullptr;
  handler_frame* held_up_next = nullptr;
  std::exception_ptr failed;
  std::uint64_t trace = 0;  // the trace that its messages belong to
  // replies with the value that it returned
  void (*answer)(handler_frame& one, request& asked) = nullptr;
};

// Call these functions only in the turn of the handler's actor.

/// Runs a handler until it is suspended for the first time. Throws the exceptions that leave the
/// handler.
void start_handler(handler_frame& frame);

/// Continues a handler whose awaited result is available; if another handler is exclusive, it
/// continues after that one. Throws the exceptions that leave the handler.
void resume_handler(handler_frame& frame);

// The awaiter of a `sending`; the `sending` itself stays where it is.
struct awaited_sending {
  sending* of;
  handler_frame* who;
  [[nodiscard]] bool await_ready() const noexcept { return of->is_decided(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<>) const { return of->wait(*who); }
  [[nodiscard]] delivery await_resume() const noexcept { return of->became(); }
};

/// An object other than a task that can be awaited in a turn: awaited_by() returns its awaiter.
template <class Awaited>
concept awaited_in_a_turn = requires(Awaited& what, handler_frame& who) { what.awaited_by(who); };

template <class T>
class task_promise;

// The awaiter of a task.
template <class T>
struct awaited_task {
  task_promise<T>* of;
  handler_frame* who;

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> parent) const noexcept { of->begin(*who, parent); }
  T await_resume() const { return of->take_result(); }
};

/// Base class of the promises of all coroutines that are handlers or are awaited by handlers.
class coroutine_promise : public handler_frame {
 public:
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    pool_release(frame, bytes);
  }

  // It begins after its actor or the awaiting coroutine has taken it over, and its frame stays
  // until that has examined how it ended.
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
    TROUPE_EXPECTS(what.promise_ != nullptr, "a moved-from task was awaited");
    return {what.promise_, handler_};
  }
  template <class Awaited>
  auto await_transform(Awaited&& what) const {
    if constexpr (awaited_in_a_turn<std::remove_reference_t<Awaited>>) {
      return std::forward<Awaited>(what).awaited_by(*handler_);
    } else {
      return static_cast<void>(sizeof(handlers_cannot_await<Awaited>)), std::suspend_never{};
    }
  }

  /// Starts a task that a coroutine of handler `of` awaits. It does not use symmetric transfer,
  /// which is not a tail call in unoptimised builds: the handler's loop resumes the task.
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

  handler_frame* handler_ = this;  // its own frame, or that of the handler that awaits it
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

/// Common base of task and exclusive_task: owns a coroutine that has not begun.
template <class Task, class T>
class coroutine_owner {
 public:
  coroutine_owner(coroutine_owner&& other) noexcept
      : promise_(std::exchange(other.promise_, nullptr)) {}
  coroutine_owner& operator=(coroutine_owner&& other) noexcept {
    std::swap(promise_, other.promise_);
    return *this;
  }
  /// Destroys a coroutine that has not begun; it will never run.
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

/// The return type of a handler that is a coroutine: `task<> on(M m)`, or `task<T> on(M m)`, where
/// T is the type of the reply. The handler may wait with `co_await`, without blocking a thread; its
/// actor handles other messages meanwhile. State of the actor may therefore have changed when the
/// handler continues. An actor may have coroutine handlers and plain handlers, and any number of
/// suspended ones.
///
/// A handler may await other tasks, for example helper functions that wait themselves:
/// `co_await fetch(key)`. An exception that leaves such a task is thrown where it is awaited.
///
/// Handlers take their parameters by value: a message lives until its handler has ended, and not
/// just for its first turn.
///
/// Threads:   a handler continues in a turn of its actor.
/// Invariant: a suspended handler keeps its actor alive. If the actor terminates nevertheless
///            (stop(), a failure), its suspended handlers are destroyed with their local objects,
///            before on_stop() is called and before the actor's object is destroyed.
/// Errors:    an exception that leaves it terminates the actor, as with any handler.
/// Cost:      its frame is a block from the pool; an actor that has had a suspended handler has a
///            side block. A message of a suspended handler is no longer in the mailbox, so limits
///            do not count it: if the handler waits for each of its messages, the number of
///            suspended handlers has no bound.
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

/// The return type of an exclusive handler: a coroutine during which its actor handles nothing
/// else. Messages wait in the mailbox, within its limits, and other handlers that are ready to
/// continue wait as well. The actor's state therefore does not change while the handler is
/// suspended. An exclusive handler may await tasks. Otherwise as task.
///
/// Only stop_now(), an overload that fails the actor, and a failure can end it early. Two exclusive
/// handlers that send requests to each other wait until a time-out, which names them
/// (ask_result::message()).
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
  /// The value that it returns is the reply to `asked`, which it owns from here on.
  static void start(Task handler, request* asked, void (*answer)(handler_frame&, request&)) {
    handler_frame& frame = *std::exchange(handler.promise_, nullptr);
    frame.exclusive = frame.takes_nothing = Exclusive;
    frame.asked = asked;
    frame.answer = answer;
    start_handler(frame);
  }
  /// Starts the function of a function actor: messages wait until it receives them.
  static void start_function(Task function) {
    handler_frame& frame = *std::exchange(function.promise_, nullptr);
    frame.takes_nothing = true;
    start_handler(frame);
  }
};

template <class T>
struct handler_result<task<T>> : coroutine_result<task<T>, T, false> {};
template <class T>
struct handler_result<exclusive_task<T>> : coroutine_result<exclusive_task<T>, T, true> {};

}  // namespace detail
}  // namespace troupe
