// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/monitor.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/message/address.hpp>

namespace troupe {
namespace detail {

/// A suspended handler that waits for the termination of another actor. Accessed only by the
/// current turn.
class end_waiter : waiter {
 public:
  end_waiter(const end_waiter&) = delete;
  end_waiter& operator=(const end_waiter&) = delete;

  /// Called in a turn of its actor with the `down` from its monitor.
  void ended(down&& what);

 protected:
  /// Starts monitoring. `held` is the actor at that address; null: the caller holds no reference to
  /// it.
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

/// The result of end_of(), to be awaited once. Destroying it ends the monitor.
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

/// Waits for the termination of another actor. In a handler that is a coroutine,
/// `down d = co_await end_of(other)` suspends the handler until the other actor has terminated. The
/// waiting actor handles other messages meanwhile, and needs no on(down). Monitoring begins with
/// the call.
///
/// As with actor::watch(), exactly one `down` arrives, after all other messages from that actor. It
/// also arrives if the other actor has already terminated.
///
/// With a time-out, `co_await end_of(other, 50ms)` returns an empty std::optional if the other
/// actor has not terminated by then. With a time-out of zero or less, it waits only for the `down`
/// of an actor that has already terminated.
///
/// Waiting does not keep the other actor alive.
///
/// Threads: the turns of an actor.
/// Errors:  std::logic_error outside of a handler that is a coroutine; std::bad_alloc.
/// Cost:    that of a monitor. With a time-out, also one reading of the clock.
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
template <message_or_request... Items>
[[nodiscard]] awaited_end<false> end_of(const recipient<Items...>& other) {
  auto& block = detail::recipient_access::block(other);
  return {block.where(), &block, time_point::max()};
}
template <message_or_request... Items>
[[nodiscard]] awaited_end<true> end_of(const recipient<Items...>& other, duration time) {
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
