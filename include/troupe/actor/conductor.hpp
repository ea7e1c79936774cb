// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <troupe/base/clock.hpp>
#include <troupe/scheduler/runnable.hpp>

namespace troupe {
class observer;
class pump;
class system;
}  // namespace troupe

namespace troupe::detail {

/// Periodic work that a runtime thread normally does; a simulation calls it instead.
class chore {
 public:
  /// Does the work that is due, and returns the time of the next call, which may come sooner if
  /// there is a reason. Cheap if there is no work.
  virtual time_point look() noexcept = 0;

 protected:
  ~chore() = default;
};

/// Work that is scheduled together with the actors but is not an actor: the completion handlers of
/// sockets.
class errand {
 public:
  /// Does the next piece of work. Returns false if there was nothing to do.
  virtual bool run() noexcept = 0;

 protected:
  ~errand() = default;
};

class conducted_executor;
class control_block;
struct envelope;

/// The conductor's decision about a message that has been sent.
enum class fate : std::uint8_t {
  arrives,
  is_late,        // the conductor delivers it later
  finds_it_full,  // the message meets a full mailbox
};

/// Schedules all turns of the systems that are made on its thread, and provides their clock: a
/// simulation. Such a system has no threads. The conductor runs its actors, wherever they were
/// placed, except for those that are bound to a pump.
///
/// Threads: its own; no other thread may touch such a system.
class conductor {
 public:
  /// Returns the conductor of this thread; usually null.
  [[nodiscard]] static conductor*& here() noexcept;

  /// Called when a system is made: returns the observer that it gets. `users`, the observer of the
  /// user, may be null.
  [[nodiscard]] virtual std::shared_ptr<observer> observed_by(std::shared_ptr<observer> users) = 0;
  virtual void opened(chore& of_system) = 0;
  virtual void closed(chore& of_system) noexcept = 0;

  /// Schedules a turn of `r`, to be run with conducted_executor::give().
  virtual void schedule(conducted_executor& at, runnable& r) noexcept = 0;

  /// Called when `e` may have work.
  virtual void schedule(errand& e) noexcept = 0;
  /// Between these two calls, `e` is also run from time to time when nothing else has work.
  virtual void opened(errand& e) = 0;
  virtual void closed(errand& e) noexcept = 0;

  /// Returns a choice among `count` possibilities. `of` names the choice: a constant.
  [[nodiscard]] virtual std::size_t choose(std::size_t count, const char* of) noexcept = 0;

  /// Returns whether a fault is injected, which happens once in `one_in` times; 0: never. `of`: as
  /// above.
  [[nodiscard]] virtual bool fault_occurs(unsigned one_in, const char* of) noexcept = 0;

  /// Decides about a message that counts towards the limits of its receiver. `from`: null if the
  /// sender is no actor.
  [[nodiscard]] virtual fate fate_of(control_block* from, control_block& to) noexcept = 0;
  /// Keeps a late message, and delivers it with control_block::arrive() when it is due; if
  /// `of_system` is closed before, the message is discarded. Takes over a reference to `to`.
  virtual void keeps(chore& of_system, control_block* from, control_block& to,
                     envelope& message) noexcept = 0;
  /// Called before a handler of that actor runs. An exception from this is treated as one from the
  /// handler.
  virtual void before_handler(control_block& of) = 0;
  /// Returns how much later than due a timer fires; usually zero.
  [[nodiscard]] virtual duration lateness() noexcept = 0;

  /// Adds a line to the trace: an event of `whom`, which is not an actor.
  virtual void note(std::string_view whom, std::string_view what) noexcept = 0;

 protected:
  conductor() = default;
  ~conductor() = default;
};

/// The executor of one system that has a conductor.
class conducted_executor final : public executor {
 public:
  conducted_executor(conductor& by, std::int64_t settles_at) noexcept
      : by_(by), activity_(settles_at) {}

  void schedule(runnable& r) noexcept override { by_.schedule(*this, r); }
  [[nodiscard]] bool may_block() const noexcept override { return true; }

  /// Runs a turn of one message, or of as many messages as a usual turn.
  turn_result give(runnable& r, bool only_one) noexcept;

  [[nodiscard]] const activity& done() const noexcept { return activity_; }

 private:
  conductor& by_;
  activity activity_;
};

/// Makes a pump that need not be run: the conductor of its system schedules its turns. Null if the
/// system has no conductor.
[[nodiscard]] std::unique_ptr<pump> conducted_pump(system& of);

}  // namespace troupe::detail
