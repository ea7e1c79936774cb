// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <string_view>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>

namespace troupe::detail {

class name_registry;
struct name_told;

/// A suspended handler that waits until a name is registered. It then looks up the actor
/// itself.
///
/// Threads:   turns of its actor.
/// Invariant: if it is destroyed while it waits, it is in no table, and a message already sent to
///            it resumes no handler.
class awaited_name : waiter {
 public:
  /// `name` must outlive this object.
  awaited_name(name_registry& registry, std::string_view name, time_point until) noexcept
      : registry_(registry), name_(name), until_(until) {}
  awaited_name(const awaited_name&) = delete;
  awaited_name& operator=(const awaited_name&) = delete;
  ~awaited_name() { leave(); }

  struct awaited {
    awaited_name* of;
    handler_frame* who;
    [[nodiscard]] bool await_ready() const { return of->until_ <= clock::now(); }
    void await_suspend(std::coroutine_handle<>) const { of->wait(*who); }
    /// False: the deadline has passed.
    [[nodiscard]] bool await_resume() const noexcept { return of->leave(); }
  };
  [[nodiscard]] awaited awaited_by(handler_frame& who) noexcept { return {this, &who}; }

  /// Returns the handler to resume. Called in a turn of its actor.
  [[nodiscard]] handler_frame& told() noexcept;

 private:
  void wait(handler_frame& who);
  bool leave() noexcept;
  void end_time() noexcept;

  name_registry& registry_;
  const std::string_view name_;
  const time_point until_;
  control_block* me_ = nullptr;
  waiting_place at_{};
  name_told* message_ = nullptr;  // owned while waiting; null before and after
  bool is_told_ = false;
};

}  // namespace troupe::detail
