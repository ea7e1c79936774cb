// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/reply.hpp>
#include <troupe/actor/request.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>

// Waiting for an operation of another library that calls a function when it is complete.

namespace troupe {

/// Compile error: callback() is given a temporary lambda that owns something. GCC 12 destroys such
/// an object twice within a co_await. Capture by reference, since the function is called at once;
/// or name the function first. This type is never defined; the error names it.
template <class Function>
struct name_the_function_first;

namespace detail {

class runtime;

/// Returns the system of the actor whose handler is running.
/// Errors: std::logic_error outside of handlers; `what` names the call.
[[nodiscard]] runtime& system_of_handler(const char* what);

// The message of a request that no actor receives: only its reply is used.
struct completed_elsewhere {};

[[noreturn]] void run_completed_elsewhere(void*, envelope&);

template <class R>
inline constexpr request_dispatch completion_dispatch_of = [] {
  request_dispatch d{};
  d.run = run_completed_elsewhere;
  d.discard = discard_request_at_once;
  d.message = "a completion";
  d.is_request = true;
  d.bytes = sizeof(request_of<completed_elsewhere, R>);
  d.place = place_for_reply_at_once;
  d.answer = &answer_dispatch<completed_elsewhere, R>;
  return d;
}();

// A request that its owner completes.
template <class R>
struct pending_completion {
  ask_future<R> result;
  reply<R> owed;
};

/// Begins to wait in the current turn, or on this thread. Throws std::bad_alloc.
template <class R>
[[nodiscard]] pending_completion<R> begin_completion(runtime& home, duration timeout) {
  request& made = make_request<completed_elsewhere, R>(completion_dispatch_of<R>);
  ask_future<R> result(home, made, timeout);
  return {std::move(result), reply_access::owed<R>(made)};
}

}  // namespace detail

/// Completes a callback(). It is passed to the library that performs the operation, which calls it
/// with the result. It may be copied, for example into a std::function; all copies complete the
/// same operation.
///
/// Threads:   any, also several at once: the first call counts.
/// Invariant: if all copies are destroyed without a call, the waiting handler gets
///            ask_error::unanswered. It may be called or destroyed after the waiting actor has
///            terminated; the result is then destroyed.
/// Cost:      8 bytes more than a std::shared_ptr's control block, once; a call costs as much as a
///            reply.
template <class R>
class completion {
 public:
  /// Passes the result to the waiting handler. Returns false if the operation was already
  /// completed; the result is then destroyed. True does not guarantee that the handler still waits.
  /// Errors: what moving the result throws; the handler then gets ask_error::failed.
  bool operator()(R result) const {
    if (!claim()) return false;
    try {
      return state_->owed.set_value(std::move(result));
    } catch (...) {
      (void)state_->owed.fail();
      throw;
    }
  }

  /// Completes the operation with ask_error::failed. Returns false as above.
  bool fail() const noexcept { return claim() && state_->owed.fail(); }

 private:
  template <class T, class Start>
  friend ask_future<T> callback(duration timeout, Start&& start);

  struct shared {
    reply<R> owed;
    atomic<bool> called{false};
    explicit shared(reply<R> of) noexcept : owed(std::move(of)) {}
  };

  explicit completion(reply<R> owed) : state_(std::make_shared<shared>(std::move(owed))) {}

  // [completion] relaxed: only one caller gets the right to use `owed`, which was published
  // together with this object.
  [[nodiscard]] bool claim() const noexcept { return !state_->called.exchange(true, relaxed); }

  std::shared_ptr<shared> state_;
};

/// Waits for an operation of another library. `start` is called at once with a completion<R>, and
/// begins the operation; the library calls the completion on any thread. The result arrives in the
/// actor's mailbox, as a reply does:
///
///   const auto read = co_await troupe::callback<int>(1s, [&](troupe::completion<int> done) {
///     library.async_read(buffer, [done](int bytes) { done(bytes); });
///   });
///
/// The returned object is that of a request: a handler that is a coroutine awaits it, another
/// handler calls then() or get(), and all() and any() accept it. If it is destroyed or the time-out
/// expires, the wait ends; the operation itself is not cancelled.
///
/// Objects that the operation uses must live until it is complete, and not just as long as the
/// handler waits: let the function that the library calls own them.
///
/// Threads: turns of an actor.
/// Errors:  in the result: `timeout`; `unanswered` if the completion was destroyed without a call;
///          `failed`. Thrown here: what `start` throws; std::bad_alloc, with nothing begun;
///          std::logic_error outside of handlers.
/// Cost:    as ask(), and a block from the heap.
template <class R, class Start>
[[nodiscard]] ask_future<R> callback(duration timeout, Start&& start) {
  static_assert(std::is_invocable_v<Start, completion<R>>,
                "callback<R>(timeout, start): start is called with a troupe::completion<R>");
  if constexpr (detail::function_may_be_destroyed_twice<Start>) {
    static_cast<void>(sizeof(name_the_function_first<Start>));
  } else if constexpr (std::is_invocable_v<Start, completion<R>>) {
    auto begun =
        detail::begin_completion<R>(detail::system_of_handler("troupe::callback()"), timeout);
    std::invoke(std::forward<Start>(start), completion<R>(std::move(begun.owed)));
    return std::move(begun.result);
  }
}

}  // namespace troupe
