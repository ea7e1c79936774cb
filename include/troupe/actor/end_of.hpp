// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include <troupe/actor/asking.hpp>
#include <troupe/actor/control_block.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/monitor.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/message/address.hpp>

namespace troupe {
namespace detail {

/// A handler that waits for the end of another actor. The turn's.
class end_waiter : waiter {
 public:
  end_waiter(const end_waiter&) = delete;
  end_waiter& operator=(const end_waiter&) = delete;

  /// In a turn of its actor: what its watch has brought.
  void ended(down&& what);

 protected:
  /// Watches. `held` is the actor at that address; null: nobody holds it here.
  end_waiter(const address& other, control_block* held, time_point until);
  ~end_waiter();

  [[nodiscard]] bool is_decided() const;
  void wait(handler_frame& who);
  [[nodiscard]] std::optional<down> take() noexcept;

 private:
  [[nodiscard]] bool is_over() const;
  void end_time() noexcept;

  control_block& me_;
  const time_point until_;
  waiting_place at_{};
  monitor watch_;
  std::optional<down> got_;
  bool taken_ = false;
};

}  // namespace detail

/// What end_of() returns: to be awaited once. Letting go of it takes the watch back.
template <bool HasTimeout>
class [[nodiscard]] awaited_end : detail::end_waiter {
 public:
  using result = std::conditional_t<HasTimeout, std::optional<down>, down>;

  awaited_end(const address& other, detail::control_block* held, time_point until)
      : end_waiter(other, held, until) {}

  struct awaited {
    awaited_end* of;
    detail::handler_frame* who;
    [[nodiscard]] bool await_ready() const { return of->is_decided(); }
    void await_suspend(std::coroutine_handle<>) const { of->wait(*who); }
    [[nodiscard]] result await_resume() const { return of->result_of(of->take()); }
  };
  [[nodiscard]] awaited awaited_by(detail::handler_frame& who) noexcept { return {this, &who}; }

 private:
  static result result_of(std::optional<down> got) {
    if constexpr (HasTimeout) {
      return got;
    } else {
      return std::move(*got);
    }
  }
};

/// In a handler that is a coroutine, `down d = co_await end_of(other)` waits until another actor has
/// ended; its own actor handles other messages meanwhile, and needs no on(down). It watches from the
/// call on, and gets exactly one `down`, as from actor::watch(): also if the other one has ended already,
/// and behind everything else that this one had sent. With a time, `co_await end_of(other, 50ms)` gives
/// an empty std::optional if it has not ended by then; with a time that is over it waits for no
/// more than the `down` of one that has ended.
///
/// It does not keep the other actor alive.
///
/// Threads: the turns of an actor.
/// Errors:  std::logic_error outside of a handler that is a coroutine; std::bad_alloc.
/// Cost:    that of a watch. With a time, also reading the clock.
template <class A>
[[nodiscard]] awaited_end<false> end_of(const ref<A>& other) {
  auto& block = detail::ref_access::block(other);
  return {block.where(), &block, time_point::max()};
}
template <class A>
[[nodiscard]] awaited_end<true> end_of(const ref<A>& other, duration time) {
  auto& block = detail::ref_access::block(other);
  return {block.where(), &block, later(clock::now(), time)};
}
template <message... Messages>
[[nodiscard]] awaited_end<false> end_of(const recipient<Messages...>& other) {
  auto& block = detail::recipient_access::block(other);
  return {block.where(), &block, time_point::max()};
}
template <message... Messages>
[[nodiscard]] awaited_end<true> end_of(const recipient<Messages...>& other, duration time) {
  auto& block = detail::recipient_access::block(other);
  return {block.where(), &block, later(clock::now(), time)};
}
[[nodiscard]] inline awaited_end<false> end_of(const address& other) {
  return {other, nullptr, time_point::max()};
}
[[nodiscard]] inline awaited_end<true> end_of(const address& other, duration time) {
  return {other, nullptr, later(clock::now(), time)};
}

}  // namespace troupe
