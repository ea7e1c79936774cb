// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <troupe/base/clock.hpp>
#include <troupe/scheduler/runnable.hpp>

namespace troupe {
class observer;
}

namespace troupe::detail {

/// What a thread of the runtime's would do now and then, without the thread.
class chore {
 public:
  /// Does what there is to do, and returns when to come again; sooner if there is a reason. Cheap if there is
  /// none.
  virtual time_point look() noexcept = 0;

 protected:
  ~chore() = default;
};

class conducted_executor;

/// Who gives all turns of the systems that are made on its thread, and says what time it is: a simulation. Such
/// a system has no threads: its actors run where the conductor has them run, wherever they were placed, but those
/// that are bound to a pump.
///
/// Threads: its own; nothing of such a system may be touched by another.
class conductor {
 public:
  /// Of this thread; usually null.
  [[nodiscard]] static conductor*& here() noexcept;

  /// A system is made: by whom it is observed; `users` may be null.
  [[nodiscard]] virtual std::shared_ptr<observer> observed_by(std::shared_ptr<observer> users) = 0;
  virtual void opened(chore& of_system) = 0;
  virtual void closed(chore& of_system) noexcept = 0;

  /// `r` is to have a turn, by conducted_executor::give().
  virtual void schedule(conducted_executor& at, runnable& r) noexcept = 0;

  /// One of so many. `of` says of what: a constant.
  [[nodiscard]] virtual std::size_t choose(std::size_t count, const char* of) noexcept = 0;

 protected:
  conductor() = default;
  ~conductor() = default;
};

/// One system's place with a conductor.
class conducted_executor final : public executor {
 public:
  conducted_executor(conductor& by, std::int64_t settles_at) noexcept
      : by_(by), activity_(settles_at) {}

  void schedule(runnable& r) noexcept override { by_.schedule(*this, r); }
  [[nodiscard]] bool may_block() const noexcept override { return true; }

  /// A turn of at most so many messages: one, or as many as there are in a usual turn.
  turn_result give(runnable& r, bool only_one) noexcept;

  [[nodiscard]] const activity& done() const noexcept { return activity_; }

 private:
  conductor& by_;
  activity activity_;
};

}  // namespace troupe::detail
