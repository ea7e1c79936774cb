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
#include <troupe/memory/pool.hpp>

namespace troupe {

/// For ask(): as long as it takes. An answer comes all the same: at the latest when the actor ends
/// that was asked, or who it has passed the question on to.
inline constexpr duration no_timeout = duration::max();

namespace detail {

/// What a handler waits for that comes in a message of its actor's. The turn's.
struct waiter {
  enum class state : std::uint8_t { waiting, answered, late, over };

  handler_frame* handler = nullptr;  // that goes on then; null: nobody waits yet
  request* answer = nullptr;         // of what was asked
  state now = state::waiting;
};

class wait_table;

/// Where in its actor's wait_table something is waited for.
struct waiting_place {
  std::uint32_t place = 0;
  std::uint32_t turn = 0;  // of the place: none is 0
};

/// A question on its way, without the type of the answer.
class asking_base : public waiter {
 protected:
  /// Sends it. Throws std::bad_alloc, with nothing sent.
  asking_base(control_block& to, request& question, duration timeout);
  asking_base(asking_base&& other) noexcept;
  asking_base& operator=(asking_base&&) = delete;
  ~asking_base() {
    if (now != state::over) leave();
  }

  [[nodiscard]] bool is_decided() {  // in the asking actor's turn
    if (now == state::waiting && slot_ == nullptr) return false;
    return is_decided_here();
  }
  [[nodiscard]] bool is_decided_later();  // in a later turn, in any case
  void wait(handler_frame& who) {
    handler = &who;
    if (who.followed) [[unlikely]]
      others_may_see_it(who);
  }
  /// As take(), of what most come to: an answer in a turn. Null: take() is to look.
  [[nodiscard]] request* take_at_once() noexcept {
    if (now != state::answered || slot_ != nullptr || in_circles_ ||
        answer->holds != request::content::reply) [[unlikely]] {
      return nullptr;
    }
    now = state::over;
    return std::exchange(answer, nullptr);
  }
  [[nodiscard]] bool wait_here(time_point until);
  /// The answer, to be freed; null: there is none, because of `error`.
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

  control_block* me_ = nullptr;  // who asks, if the answer comes to its mailbox: to this place
  answer_slot* slot_ = nullptr;  // else
  waiting_place at_{};
  time_point deadline_ = time_point::max();  // as far as it is not on the table of `me_`
  address to_;
  std::unique_ptr<std::string> circle_;  // in which actors waited when the time was over
  std::uint32_t number_ = 0;             // 0: nobody looks for whom its actor waits
  std::uint32_t because_ = 0;            // as circles knows it, if it is there
  bool blocks_ = false;
  bool in_circles_ = false;
};

}  // namespace detail

/// What ask() returns: a question that has been sent, and will have one answer. It is awaited in a
/// handler that is a coroutine, waited for in a thread, or continued with a callback:
///
///   auto taken = co_await account.ask<withdraw>(50ms, cents);
///   auto taken = account.ask<withdraw>(50ms, cents).get();
///   account.ask<withdraw>(50ms, cents).then([this](troupe::ask_result<bool> taken) { … });
///
/// Several may be on their way: `auto a = …ask(…); auto b = …ask(…); co_await std::move(a);`. Letting go
/// of one cancels it: nobody waits any more, and what was kept for it is free; the question itself
/// stays in the mailbox where it is.
///
/// Threads:   that in which ask() was called; or turns of the actor whose handler called it.
/// Invariant: one result: the answer, or an ask_error. An answer that comes too late is counted
///            (statistics::answers_late) and destroyed; it never reaches another question.
/// Cost:      one block for the question and the answer. For a handler that is a coroutine nothing
///            else; elsewhere a block more, and a mutex.
template <class R>
class [[nodiscard]] asking : detail::asking_base {
  static_assert(!std::is_same_v<R, ask_error>, "an ask_error cannot be an answer: wrap it");

 public:
  using result = ask_result<R>;

  asking(detail::control_block& to, detail::request& question, duration timeout)
      : asking_base(to, question, timeout) {}
  asking(asking&&) noexcept = default;

  /// Waits in this thread.
  ///
  /// Errors: std::logic_error where waiting could not end well: within a handler for its own actor's
  ///         answer, or that of an actor bound to the same pump; in a handler that is a coroutine. In
  ///         another handler on the pool it blocks a worker for so long.
  result get() {
    (void)wait_here(time_point::max());
    return take_result();
  }

  /// The same, but gives up at a deadline of its own: false, and the question still stands.
  [[nodiscard]] bool wait_until(time_point deadline) { return wait_here(deadline); }
  [[nodiscard]] bool wait_for(duration time) { return wait_here(later(clock::now(), time)); }

  /// Calls `callback(ask_result<R>)` in a later turn of the actor whose handler runs. It is a handler
  /// like any other: what it throws fails the actor, which stays alive for it; and it is destroyed
  /// with it.
  ///
  /// In an actor that ends, in on_stop() or its destructor, it is destroyed at once.
  /// Errors: std::logic_error if no handler runs.
  template <std::invocable<result> Callback>
  void then(Callback callback) && {
    if (!is_decided_later()) return;
    detail::handler_result<task<>>::start(continued(std::move(*this), std::move(callback)));
  }

  struct awaited {
    asking* of;
    detail::handler_frame* who;
    [[nodiscard]] bool await_ready() const { return of->is_decided(); }
    void await_suspend(std::coroutine_handle<>) const { of->wait(*who); }
    [[nodiscard]] result await_resume() const { return of->take_result(); }
  };
  [[nodiscard]] awaited awaited_by(detail::handler_frame& who) noexcept { return {this, &who}; }

  /// Its time-out comes by then, if it would come later. Where ask() was called.
  void no_later_than(time_point deadline) { shorten(deadline); }

  // ── For any() ───────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] bool is_over() const noexcept { return now == state::over; }
  [[nodiscard]] bool decided_in_turn() { return is_decided(); }
  void wake(detail::handler_frame& who) { wait(who); }
  void wake_nobody() noexcept { handler = nullptr; }

 private:
  template <class Callback>
  static task<> continued(asking of, Callback callback) {
    callback(co_await std::move(of));
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

/// A question in a block from the pool.
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

/// Somebody who waits, for so long at the most. The turn's.
class timed_waiter : protected waiter {
 public:
  timed_waiter() = default;
  timed_waiter(const timed_waiter&) = delete;
  timed_waiter& operator=(const timed_waiter&) = delete;

  /// The handler goes on because of a message of this kind. Throws what leaves it.
  void goes_on(const dispatch& because);

 protected:
  ~timed_waiter() { end(); }
  /// Throws std::bad_alloc.
  void begin(handler_frame& who, time_point until);
  void end() noexcept;

 private:
  control_block* me_ = nullptr;  // null: it has no deadline
  waiting_place at_{};
};

}  // namespace detail

/// In a handler that is a coroutine: `co_await sleep_for(50ms)` goes on after that time, never earlier.
/// The actor handles other messages meanwhile, unless the handler is exclusive. No timer of its own is
/// armed for it, as for time-outs: an actor has one for all that it waits for.
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
