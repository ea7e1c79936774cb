// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/channel_core.hpp>
#include <troupe/actor/channel_value.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>

namespace troupe::detail {

class told_handler;

/// A suspended handler in the lines of one channel or of several, with a deadline. It lies in the
/// coroutine frame with its cases; state that may outlive the frame is in a separate block.
///
/// Threads:   the turns of the handler's actor.
/// Invariant: if it is destroyed while it waits, it leaves all lines, and a value that was given to
///            it but not taken is put back.
class handler_in_line : waiter {
 public:
  using progress = channel_core::progress;
  using outcome = std::pair<progress, channel_case*>;
  using core_in_use = std::shared_ptr<channel_core>;

  /// The spans must have the same size and must outlive this object.
  handler_in_line(std::span<channel_case*> cases, std::span<channel_core*> locks,
                  std::span<core_in_use> keeps, time_point until) noexcept
      : cases_(cases), locks_(locks), keeps_(keeps), until_(until) {}
  handler_in_line(const handler_in_line&) = delete;
  handler_in_line& operator=(const handler_in_line&) = delete;
  ~handler_in_line();

  /// The steps of co_await. decide() sets the result of an operation that was completed without
  /// waiting.
  void decide(outcome what) noexcept { became_ = what; }
  [[nodiscard]] bool is_decided();
  /// Returns false if it was decided meanwhile. Throws std::bad_alloc, with no line entered.
  [[nodiscard]] bool wait(handler_frame& who);
  /// Returns the outcome; `must_wait`: the deadline has passed. A received value belongs to the
  /// caller.
  [[nodiscard]] outcome take() noexcept;

  /// Called by the message that reports the completed case; null: all channels have been closed.
  /// Returns the handler to resume.
  [[nodiscard]] handler_frame& told(channel_case* done) noexcept;

 private:
  void leave() noexcept;
  void end_time() noexcept;

  const std::span<channel_case*> cases_;
  const std::span<channel_core*> locks_;
  // while it waits: another handler may destroy its handle of the channel
  const std::span<core_in_use> keeps_;
  const time_point until_;
  control_block* me_ = nullptr;
  told_handler* told_ = nullptr;  // it waits, or has not been notified yet
  waiting_place at_{};
  outcome became_{progress::must_wait, nullptr};
};

/// A handler_in_line for one channel.
class handler_in_one_line {
 public:
  handler_in_one_line(channel_case& one, time_point until) noexcept
      : case_{&one}, wait_(case_, lock_, keep_, until) {}
  handler_in_line* operator->() noexcept { return &wait_; }

 private:
  std::array<channel_case*, 1> case_;
  std::array<channel_core*, 1> lock_{};
  std::array<handler_in_line::core_in_use, 1> keep_;
  handler_in_line wait_;
};

/// The result of next(); it must be awaited in the same expression.
template <class T>
class [[nodiscard]] next_value {
 public:
  next_value(channel_core& from, time_point until) noexcept
      : one_{.of = &from, .sends = false, .value = room_.place()}, wait_(one_, until) {}
  next_value(const next_value&) = delete;
  next_value& operator=(const next_value&) = delete;

  struct awaited {
    next_value* of;
    handler_frame* who;
    [[nodiscard]] bool await_ready() const { return of->wait_->is_decided(); }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<>) const {
      return of->wait_->wait(*who);
    }
    [[nodiscard]] received<T> await_resume() const noexcept { return of->take(); }
  };
  [[nodiscard]] awaited awaited_by(handler_frame& who) noexcept { return {this, &who}; }

 private:
  received<T> take() noexcept {
    const auto became = wait_->take().first;
    if (became == channel_core::progress::done) return received<T>(room_.take());
    return received<T>(became == channel_core::progress::closed);
  }

  value_room<T> room_;
  channel_case one_;
  handler_in_one_line wait_;
};

/// The result of async_send() of a channel; it must be awaited in the same expression.
template <class T>
class [[nodiscard]] sending_value {
 public:
  template <class V>
  sending_value(channel_core& to, V&& value, time_point until)
      : value_(std::forward<V>(value)),
        one_{.of = &to, .sends = true, .value = &value_, .dropped = oldest_.place()},
        wait_(one_, until) {}
  sending_value(const sending_value&) = delete;
  sending_value& operator=(const sending_value&) = delete;

  struct awaited {
    sending_value* of;
    handler_frame* who;
    [[nodiscard]] bool await_ready() const { return of->is_decided(); }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<>) const {
      return of->wait_->wait(*who);
    }
    [[nodiscard]] sent<T> await_resume() const { return of->take(); }
  };
  [[nodiscard]] awaited awaited_by(handler_frame& who) noexcept { return {this, &who}; }

 private:
  [[nodiscard]] bool waits() const noexcept {
    return one_.of->on_full() == overflow::policy::backpressure;
  }
  bool is_decided() {
    if (waits()) return wait_->is_decided();
    wait_->decide({one_.of->try_send(one_), &one_});
    return true;
  }
  sent<T> take() {
    switch (wait_->take().first) {
      case channel_core::progress::done:
        if (one_.has_dropped) oldest_.value().~T();
        return channel_delivery::accepted;
      case channel_core::progress::closed:
        return {channel_delivery::closed, std::move(value_)};
      case channel_core::progress::must_wait:
        break;
    }
    return {not_sent_in_time(one_), std::move(value_)};
  }

  value_room<T> oldest_;
  T value_;
  channel_case one_;
  handler_in_one_line wait_;
};

}  // namespace troupe::detail
