// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/ask_result.hpp>
#include <troupe/actor/callback.hpp>
#include <troupe/actor/reply.hpp>
#include <troupe/actor/statistics.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/message/type_name.hpp>

// A bounded number of threads for libraries that block: databases, files, name resolution.

namespace troupe {

class system;

/// Compile error: a call is awaited in the expression that makes it, with a temporary lambda that
/// owns something. GCC 12 destroys such an object twice. Name the call first:
/// `auto call = pool.run(…); const auto result = co_await call;`. This type is never defined; the
/// error names it.
template <class Result>
struct name_the_call_first;

struct blocking_pool_options {
  /// In reports, thread names and metrics. Unique among the pools of a system that exist.
  std::string name = "blocking";
  /// The number of threads, and so of calls that run at a time: at least 1.
  unsigned threads = 4;
  /// The number of calls that may wait for a thread. Further calls are refused.
  std::size_t queue_max = 1'024;
};

namespace detail {

class blocking_queue;
class runtime;

template <class T>
using stored_value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// The outcome of a call: a value, or an exception.
template <class T>
class call_outcome {
 public:
  call_outcome() = default;
  explicit call_outcome(std::exception_ptr what) noexcept : thrown(std::move(what)) {}

  std::optional<stored_value<T>> value;
  std::exception_ptr thrown;  // null if there is a value
};

/// One call, from run() until nothing uses it any more.
///
/// Threads: call() and deliver() on a thread of the pool; drop() there or by the caller of run().
///          The mutex of the queue guards the members that are not constant.
class blocking_job {
 public:
  explicit blocking_job(const dispatch& what) noexcept : record(what) {}
  blocking_job(const blocking_job&) = delete;
  blocking_job& operator=(const blocking_job&) = delete;
  virtual ~blocking_job() = default;

  /// Runs the function and destroys it.
  virtual void call() noexcept = 0;
  /// Passes on what the function gave.
  virtual void deliver() noexcept = 0;
  [[nodiscard]] virtual bool has_thrown() const noexcept = 0;
  /// Completes a call that has not run.
  virtual void end_as(ask_error why) noexcept = 0;
  /// Nothing waits for a call that will not run.
  virtual void drop() noexcept = 0;

  // expired: it has left the queue too late to run, and its time-out will end the wait
  enum class state : std::uint8_t { waits, runs, expired, over };

  const dispatch& record;  // names the function in reports
  state now = state::over;
  bool is_abandoned = false;  // nothing waits for its result any more
  time_point queued{};
  time_point until = time_point::max();  // it does not begin later
  std::list<std::shared_ptr<blocking_job>>::iterator at{};
};

template <class F>
inline constexpr dispatch blocking_record_of{
    .run = nullptr, .discard = nullptr, .message = type_name<F>(), .internal = true};

template <class F, class T>
class blocking_job_of final : public blocking_job {
 public:
  template <class Function>
  explicit blocking_job_of(Function&& function)
      : blocking_job(blocking_record_of<F>),
        function_(std::in_place, std::forward<Function>(function)) {}

  void call() noexcept override {
    try {
      if constexpr (std::is_void_v<T>) {
        std::invoke(*function_);
        gave_.value.emplace();
      } else {
        gave_.value.emplace(std::invoke(*function_));
      }
    } catch (...) {
      gave_.thrown = std::current_exception();
    }
    function_.reset();
  }
  void deliver() noexcept override {
    try {
      (void)owed.set_value(std::move(gave_));
    } catch (...) {  // of the move
      (void)owed.set_value(call_outcome<T>(std::current_exception()));
    }
  }
  [[nodiscard]] bool has_thrown() const noexcept override { return gave_.thrown != nullptr; }
  void end_as(ask_error why) noexcept override { reply_access::let_go(owed, why); }
  void drop() noexcept override { reply_access::abandon(owed); }

  reply<call_outcome<T>> owed;

 private:
  std::optional<F> function_;
  call_outcome<T> gave_;
};

/// Takes a call out of the queue, or marks it as abandoned, when nothing waits for it any more.
class blocking_claim {
 public:
  blocking_claim(std::shared_ptr<blocking_queue> queue, std::shared_ptr<blocking_job> job) noexcept
      : queue_(std::move(queue)), job_(std::move(job)) {}
  blocking_claim(blocking_claim&&) noexcept = default;
  blocking_claim& operator=(blocking_claim&&) = delete;
  ~blocking_claim() {
    if (job_ != nullptr) leave();
  }
  [[nodiscard]] std::string why_refused() const;

 private:
  void leave() noexcept;

  std::shared_ptr<blocking_queue> queue_;
  std::shared_ptr<blocking_job> job_;
};

[[nodiscard]] std::string text_of(const std::exception_ptr& thrown);

}  // namespace detail

/// The result of blocking_pool::run(): the value that the function returned, the exception that it
/// threw, or the reason why there is neither.
///
/// | error()      | reason                                                                     |
/// |--------------|----------------------------------------------------------------------------|
/// | `timeout`    | the function had not returned in time; it may not have begun, or still run |
/// | `refused`    | the queue of the pool is full                                              |
/// | `failed`     | the function threw: exception()                                            |
/// | `stopped`    | the pool or its system ends, and the function has not begun                |
template <class T>
class [[nodiscard]] blocking_result {
  using stored = detail::stored_value<T>;

 public:
  using value_type = T;

  explicit blocking_result(detail::call_outcome<T>&& gave)
      : value_(std::move(gave.value)), thrown_(std::move(gave.thrown)) {}
  blocking_result(ask_error error, std::string text) noexcept
      : error_(error), text_(std::move(text)) {}

  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  // These operators require a value. Without one, they print a line to stderr and abort.
  [[nodiscard]] stored& operator*() & noexcept { return checked(); }
  [[nodiscard]] const stored& operator*() const& noexcept {
    return const_cast<blocking_result*>(this)->checked();
  }
  [[nodiscard]] stored&& operator*() && noexcept { return std::move(checked()); }
  [[nodiscard]] stored* operator->() noexcept { return &checked(); }
  [[nodiscard]] const stored* operator->() const noexcept {
    return &const_cast<blocking_result*>(this)->checked();
  }

  /// Returns the value.
  /// Errors: the exception of the function; otherwise ask_failed, with message() as its text.
  std::add_lvalue_reference_t<T> value() & {
    throw_if_none();
    if constexpr (!std::is_void_v<T>) return *value_;
  }
  T value() && {
    throw_if_none();
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

  /// Returns the error. Requires that there is no value.
  [[nodiscard]] ask_error error() const noexcept {
    TROUPE_EXPECTS(!has_value(),
                   "blocking_result::error() was called on a result with a value: check "
                   "has_value() first");
    return error_;
  }
  /// Returns the exception of the function, or null.
  [[nodiscard]] const std::exception_ptr& exception() const noexcept { return thrown_; }

  /// Returns the error as text, with the text of the exception: "failed: no such table". Empty if
  /// there is a value.
  [[nodiscard]] std::string message() const {
    if (has_value()) return {};
    const std::string more = thrown_ != nullptr ? detail::text_of(thrown_) : text_;
    return std::string(to_string(error_)) + (more.empty() ? "" : ": ") + more;
  }

 private:
  stored& checked() noexcept {
    TROUPE_EXPECTS(has_value(),
                   "the value of a blocking_result without a value was used: check has_value() "
                   "first");
    return *value_;
  }
  void throw_if_none() const {
    if (has_value()) return;
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
    throw ask_failed(error_, "a blocking call failed: " + message());
  }

  std::optional<stored> value_;
  std::exception_ptr thrown_;
  ask_error error_ = ask_error::failed;
  std::string text_;
};

/// A call that waits for a thread of the pool, or runs: the result of blocking_pool::run(). A
/// handler that is a coroutine awaits it, another handler calls then() or get(), a thread get().
///
/// Destroying it ends the wait. A call that has not begun is then removed from the queue and never
/// runs. A call that has begun cannot be cancelled: it runs to its end, and its result is destroyed
/// and counted (blocking_pool_statistics::calls_abandoned).
///
/// A call whose function is a temporary lambda that owns something must have a name before it is
/// awaited: see name_the_call_first.
///
/// Threads: as ask_future.
template <class T, bool AwaitedAtOnce = true>
class [[nodiscard]] blocking_call {
  using outcome = detail::call_outcome<T>;

 public:
  using result = blocking_result<T>;

  blocking_call(ask_future<outcome> waits, detail::blocking_claim claim) noexcept
      : claim_(std::move(claim)), waits_(std::move(waits)) {}
  blocking_call(blocking_call&&) noexcept = default;

  /// Blocks this thread until the call is complete, as ask_future::get() does.
  result get() { return explained(waits_.get(), claim_); }

  /// Calls `callback(blocking_result<T>)` in a later turn, as ask_future::then() does.
  template <std::invocable<result> Callback>
  void then(Callback callback) && {
    std::move(waits_).then([claim = std::move(claim_),
                            callback = std::move(callback)](ask_result<outcome> got) mutable {
      callback(explained(std::move(got), claim));
    });
  }

  struct awaited {
    typename ask_future<outcome>::awaited inner;
    const detail::blocking_claim* claim;
    [[nodiscard]] bool await_ready() const { return inner.await_ready(); }
    void await_suspend(std::coroutine_handle<> who) const { inner.await_suspend(who); }
    [[nodiscard]] result await_resume() const { return explained(inner.await_resume(), *claim); }
  };
  [[nodiscard]] awaited awaited_by(detail::handler_frame& who) & noexcept {
    return {waits_.awaited_by(who), &claim_};
  }
  [[nodiscard]] awaited awaited_by(detail::handler_frame& who) && noexcept {
    if constexpr (!AwaitedAtOnce) static_cast<void>(sizeof(name_the_call_first<T>));
    return {waits_.awaited_by(who), &claim_};
  }

 private:
  static result explained(ask_result<outcome>&& got, const detail::blocking_claim& claim) {
    if (got.has_value()) return result(*std::move(got));
    return {got.error(), got.error() == ask_error::refused ? claim.why_refused() : std::string{}};
  }

  detail::blocking_claim claim_;
  ask_future<outcome> waits_;
};

/// A pool of threads for functions that block: SQL libraries, files, name resolution. A handler
/// awaits the result and blocks no thread of the actors:
///
///   troupe::blocking_pool sql(system, {.name = "sql", .threads = 8});
///   …
///   troupe::task<> on(load m) {
///     const auto rows = co_await sql_.run(2s, [id = m.id] { return database().select(id); });
///     if (!rows) { … rows.message() … }
///
/// At most `threads` calls run at a time; up to `queue_max` further calls wait, first in, first
/// out; more are refused. troupe::blocking() has no such bounds.
///
/// The threads are those of actors that the pool spawns, with the pool's name. system::shutdown()
/// waits for calls that have begun, within its deadline; its report names the function of a call
/// that is left. Calls that have not begun get `stopped`. So it is when the last copy of the pool
/// is destroyed, except that nothing waits for the calls that have begun.
///
/// In a simulation, functions run on the simulation's thread, in an order that the seed determines.
///
/// Threads:   any; a plain value, whose copies are the same pool. A copy may outlive the system;
///            run() then gives `stopped`.
/// Invariant: each call has exactly one result.
/// Cost:      threads are started by the constructor. A call takes a request, a block from the
///            heap, two locks of a mutex and a message to a thread.
/// Errors:    of the constructor: std::invalid_argument for options that are out of range, or a
///            name that another pool of the system has; std::system_error if a thread cannot be
///            started.
class blocking_pool {
 public:
  static constexpr unsigned threads_max = 1'024;

  explicit blocking_pool(system& in, blocking_pool_options options = {});

  /// Runs a function on a thread of the pool. It is called without arguments, at most once, and is
  /// destroyed before the result arrives. It must own what it uses, or keep alive what it refers
  /// to: it may run for longer than the caller waits. The time-out includes the time in the queue.
  /// A call whose time is over does not begin.
  ///
  /// A function should not wait for another call of the same pool: with all threads in such
  /// functions, none of the calls that they wait for begins.
  ///
  /// Threads: any. In a handler, co_await the result.
  /// Errors:  in the result: see blocking_result. Throws std::bad_alloc and what copying or moving
  ///          the function throws, with nothing called.
  template <class Function>
  [[nodiscard]] auto run(duration timeout, Function&& function) const {
    using F = std::decay_t<Function>;
    static_assert(std::is_invocable_v<F&>,
                  "blocking_pool::run(timeout, function): function is called without arguments");
    using T = std::decay_t<std::invoke_result_t<F&>>;
    auto job = std::make_shared<detail::blocking_job_of<F, T>>(std::forward<Function>(function));
    auto begun = detail::begin_completion<detail::call_outcome<T>>(home(), timeout);
    job->owed = std::move(begun.owed);
    submit(job, timeout);
    return blocking_call<T, !detail::function_may_be_destroyed_twice<Function>>(
        std::move(begun.result), detail::blocking_claim(queue(), std::move(job)));
  }

  [[nodiscard]] blocking_pool_statistics statistics() const;
  [[nodiscard]] const std::string& name() const noexcept;

 private:
  struct owner;

  [[nodiscard]] detail::runtime& home() const noexcept;
  [[nodiscard]] const std::shared_ptr<detail::blocking_queue>& queue() const noexcept;
  void submit(const std::shared_ptr<detail::blocking_job>& job, duration timeout) const;

  std::shared_ptr<owner> owner_;
};

}  // namespace troupe
