// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <troupe/actor/ask_result.hpp>
#include <troupe/actor/request.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/memory/pool.hpp>

namespace troupe {

/// The time-out of a request that has none. The request is nevertheless always completed, no later
/// than when the responder (or the actor to which the responder has forwarded it) terminates.
inline constexpr duration no_timeout = duration::max();

namespace detail {

/// Waits for an event that arrives in a message to the waiting actor. Accessed only by the current
/// turn of that actor.
struct waiter {
  // ended: its actor terminated
  enum class state : std::uint8_t { waiting, answered, late, ended, over };

  handler_frame* handler = nullptr;  // the handler to resume; null: nothing waits yet
  request* answer = nullptr;         // the completed request
  state now = state::waiting;
};

class wait_table;

/// The index in its actor's wait_table at which a waiter is registered.
struct waiting_place {
  std::uint32_t place = 0;
  std::uint32_t turn = 0;  // counts the uses of the place; never 0
};

/// A sent request, independent of the type of the reply.
class ask_future_base : public waiter {
 protected:
  /// Sends the request. Throws std::bad_alloc, with nothing sent.
  ask_future_base(control_block& to, request& question, duration timeout);
  /// Begins to wait for a request that is sent to no actor: the caller completes it. Throws
  /// std::bad_alloc; the request is then discarded.
  ask_future_base(runtime& home, request& pending, duration timeout);
  ask_future_base(ask_future_base&& other) noexcept;
  ask_future_base& operator=(ask_future_base&&) = delete;
  ~ask_future_base() {
    if (now != state::over) leave();
  }

  [[nodiscard]] bool is_decided() {  // in a turn of the requester
    if (now == state::waiting && slot_ == nullptr) return false;
    return is_decided_here();
  }
  [[nodiscard]] bool is_decided_later();  // for completion in a later turn, in any case
  void wait(handler_frame& who) {
    handler = &who;
    if (who.followed) [[unlikely]]
      others_may_see_it(who);
  }
  /// The fast path of take(), for the most common case: a reply that arrived in a turn. Returns
  /// null if take() has to be called.
  [[nodiscard]] request* take_at_once() noexcept {
    if (now != state::answered || slot_ != nullptr || in_cycle_search_ ||
        answer->holds != request::content::reply) [[unlikely]] {
      return nullptr;
    }
    now = state::over;
    return std::exchange(answer, nullptr);
  }
  [[nodiscard]] bool wait_here(time_point until);
  /// Returns the reply, which the caller must free; null: there is no reply, because of `error`.
  [[nodiscard]] request* take(ask_error& error, std::unique_ptr<std::string>& cycle) noexcept;
  void shorten(time_point deadline);

 private:
  void leave() noexcept;
  [[nodiscard]] bool is_decided_here();
  void others_may_see_it(const handler_frame& who);
  void move_to_turn();
  void wait_for_answer(time_point end);
  void wait_as_thread(time_point end);
  void wait_in_turn(control_block& me, time_point end);
  void sleep_until_answer(time_point end) noexcept;
  [[nodiscard]] wait_table& table_of_mine() const noexcept;

  // the requester, if the reply is sent to its mailbox, for this place in it
  control_block* me_ = nullptr;
  answer_slot* slot_ = nullptr;  // else: where the reply is put
  waiting_place at_{};
  time_point deadline_ = time_point::max();  // if it is not in the table of `me_`
  address to_;
  // the actors that were in a wait cycle when the time-out expired
  std::unique_ptr<std::string> circle_;
  std::uint32_t number_ = 0;   // 0: no cycle detection for this wait
  std::uint32_t because_ = 0;  // the id of this wait for cycle detection, if it is registered there
  bool blocks_ = false;
  bool in_cycle_search_ = false;
};

}  // namespace detail

/// The result of ask(): a request that has been sent and will be completed exactly once. A handler
/// that is a coroutine awaits it, a thread waits for it, or a callback continues it:
///
///   auto taken = co_await account.ask<withdraw>(50ms, cents);
///   auto taken = account.ask<withdraw>(50ms, cents).get();
///   account.ask<withdraw>(50ms, cents).then([this](troupe::ask_result<bool> taken) { … });
///
/// Several requests may be pending: `auto a = …ask(…); auto b = …ask(…); co_await std::move(a);`.
/// Destroying a pending request cancels the wait and frees its resources. The request itself stays
/// in the responder's mailbox, so its handler may still run.
///
/// Threads:   the thread in which ask() was called; or turns of the actor whose handler called it.
/// Invariant: exactly one result: the reply, or an ask_error. A reply that arrives too late is
///            counted (statistics::answers_late) and destroyed; it never reaches another request.
/// Cost:      one block for the request and the reply. For a handler that is a coroutine, nothing
///            else; otherwise another block, and a mutex.
template <class R>
class [[nodiscard]] ask_future : detail::ask_future_base {
  static_assert(!std::is_same_v<R, ask_error>,
                "a handler cannot reply with an ask_error: wrap it in another type");

 public:
  using result = ask_result<R>;

  ask_future(detail::control_block& to, detail::request& question, duration timeout)
      : ask_future_base(to, question, timeout) {}
  ask_future(detail::runtime& home, detail::request& pending, duration timeout)
      : ask_future_base(home, pending, timeout) {}
  ask_future(ask_future&&) noexcept = default;

  /// Blocks this thread until the request is completed.
  ///
  /// In a handler, get() blocks the handler's thread; if that is a thread of a pool, another thread
  /// runs the other actors meanwhile.
  ///
  /// Errors: std::logic_error where waiting could deadlock or block the system. This is the case in
  ///         a handler that is a coroutine, and in a callback such as on_overload. In any other
  ///         handler, it is the case if the reply would have to come from its own actor, from an
  ///         actor bound to the same pump, or from a member of its serial group. It is also the
  ///         case there if the request has no time-out, or if all max_threads of the pool are
  ///         already waiting. The text of the error recommends co_await or then(), which do not
  ///         block a thread.
  result get() {
    (void)wait_here(time_point::max());
    return take_result();
  }

  /// Blocks this thread until the request is completed or the deadline has passed. Returns false in
  /// the latter case; the request is then still pending. Otherwise as get().
  [[nodiscard]] bool wait_until(time_point deadline) { return wait_here(deadline); }
  [[nodiscard]] bool wait_for(duration time) { return wait_here(later(clock::now(), time)); }

  /// Calls `callback(ask_result<R>)` in a later turn of the actor whose handler is running. The
  /// callback is a handler like any other: an exception that leaves it fails the actor. The pending
  /// callback keeps the actor alive.
  ///
  /// If the actor stops first, the callback is called with `stopped` before on_stop(). Like
  /// on_stop(), it is not called if the actor has failed. A stopping actor starts no further
  /// callbacks. In a callback that is called with `stopped`, in on_stop() and in the destructor,
  /// then() destroys the callback at once.
  ///
  /// Errors: std::logic_error if no handler is running.
  template <std::invocable<result> Callback>
  void then(Callback callback) && {
    if (!is_decided_later()) return;
    detail::handler_result<task<>>::start(continued(std::move(*this), std::move(callback)));
  }

  struct awaited {
    ask_future* of;
    detail::handler_frame* who;
    [[nodiscard]] bool await_ready() const { return of->is_decided(); }
    void await_suspend(std::coroutine_handle<>) const { of->wait(*who); }
    [[nodiscard]] result await_resume() const { return of->take_result(); }
  };
  [[nodiscard]] awaited awaited_by(detail::handler_frame& who) noexcept { return {this, &who}; }

  // The awaiter of a callback: it is also resumed when its actor stops.
  struct until_the_end {
    ask_future* of;
    [[nodiscard]] awaited awaited_by(detail::handler_frame& who) const noexcept {
      who.callback = of;
      return {of, &who};
    }
  };

  /// Shortens the time-out so that it expires no later than `deadline`.
  /// Threads: as get().
  void with_deadline(time_point deadline) { shorten(deadline); }

  // ── For any() ───────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] bool is_over() const noexcept { return now == state::over; }
  [[nodiscard]] bool decided_in_turn() { return is_decided(); }
  void wake(detail::handler_frame& who) { wait(who); }
  void wake_nobody() noexcept { handler = nullptr; }

 private:
  template <class Callback>
  static task<> continued(ask_future of, Callback callback) {
    callback(co_await until_the_end{&of});
  }

  result take_result() {
    detail::request* answered = take_at_once();
    if (answered == nullptr) [[unlikely]] {
      ask_error error{};
      std::unique_ptr<std::string> cycle;
      answered = take(error, cycle);
      if (answered == nullptr) return {error, std::move(cycle)};
    }
    struct free_after {
      detail::request* answered;
      ~free_after() { answered->how->discard(*answered); }
    } guard{answered};
    return std::move(*static_cast<R*>(answered->reply()));
  }
};

namespace detail {

/// Allocates a request in a block from the pool.
template <class M, class R, class... Parts>
request& make_request(const request_dispatch& how, Parts&&... parts) {
  using E = request_of<M, R>;
  void* const block = pool_allocate(sizeof(E), alignof(E));
  struct give_back {
    void* block;
    ~give_back() {
      if (block != nullptr) pool_release(block, sizeof(E), alignof(E));
    }
  } guard{block};
  request& made = *::new (block) E(how, std::forward<Parts>(parts)...);
  guard.block = nullptr;
  return made;
}

/// A waiter with a deadline. Accessed only by the current turn.
class timed_waiter : protected waiter {
 public:
  timed_waiter() = default;
  timed_waiter(const timed_waiter&) = delete;
  timed_waiter& operator=(const timed_waiter&) = delete;

  /// Resumes the handler because of a message of this kind. Throws the exceptions that leave the
  /// handler.
  void goes_on(const dispatch& because);

 protected:
  ~timed_waiter() { end(); }
  /// Errors: std::bad_alloc.
  void begin(handler_frame& who, time_point until);
  void end() noexcept;

 private:
  control_block* me_ = nullptr;  // null: it has no deadline
  waiting_place at_{};
};

}  // namespace detail

/// Suspends a handler that is a coroutine: `co_await sleep_for(50ms)` continues after 50 ms, never
/// earlier. The actor handles other messages meanwhile, unless the handler is exclusive. No
/// separate timer is armed: as for time-outs, one timer serves all waits of an actor.
class [[nodiscard]] sleep_until : detail::timed_waiter {
 public:
  explicit sleep_until(time_point until) noexcept : until_(until) {}

  struct awaited {
    sleep_until* of;
    detail::handler_frame* who;
    [[nodiscard]] bool await_ready() const noexcept { return of->until_ <= clock::now(); }
    void await_suspend(std::coroutine_handle<>) const { of->begin(*who, of->until_); }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] awaited awaited_by(detail::handler_frame& who) noexcept { return {this, &who}; }

 private:
  const time_point until_;
};

[[nodiscard]] inline sleep_until sleep_for(duration time) {
  return sleep_until(later(clock::now(), time));
}

}  // namespace troupe
