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

/// What a thread of the runtime's would do now and then, without the thread.
class chore {
 public:
  /// Does what there is to do, and returns when to come again; sooner if there is a reason. Cheap if there is
  /// none.
  virtual time_point look() noexcept = 0;

 protected:
  ~chore() = default;
};

/// What gets turns among the actors and is none: the completion handlers of sockets.
class errand {
 public:
  /// Does the next thing there is to do. False: there was none.
  virtual bool run() noexcept = 0;

 protected:
  ~errand() = default;
};

class conducted_executor;
class control_block;
struct envelope;

/// What becomes of a message that has been sent.
enum class fate : std::uint8_t {
  arrives,
  is_late,        // it has to be handed over by who says so
  finds_it_full,  // the mailbox
};

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

  /// `e` may have something to do.
  virtual void schedule(errand& e) noexcept = 0;
  /// Between these it also gets a turn now and then, when nobody else has anything to do.
  virtual void opened(errand& e) = 0;
  virtual void closed(errand& e) noexcept = 0;

  /// One of so many. `of` says of what: a constant.
  [[nodiscard]] virtual std::size_t choose(std::size_t count, const char* of) noexcept = 0;

  /// Whether a fault is to happen, which does so once in so many times; 0: never. `of`: as above.
  [[nodiscard]] virtual bool strikes(unsigned one_in, const char* of) noexcept = 0;

  /// Of a message that counts in the limits of its receiver. `from`: null if no actor has sent it.
  [[nodiscard]] virtual fate fate_of(control_block* from, control_block& to) noexcept = 0;
  /// It is late: control_block::arrive() when it is due. `to` is held. Until `of_system` is closed at most.
  virtual void keeps(chore& of_system, control_block* from, control_block& to,
                     envelope& message) noexcept = 0;
  /// Before a handler of that actor runs. What this throws the handler has thrown.
  virtual void before_handler(control_block& of) = 0;
  /// How much later than it is due a timer fires; usually zero.
  [[nodiscard]] virtual duration lateness() noexcept = 0;

  /// A line for the trace: what has happened to `whom`, who is no actor.
  virtual void note(std::string_view whom, std::string_view what) noexcept = 0;

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

/// A pump that nobody need pump: the conductor of its system gives the turns. Null if it has none.
[[nodiscard]] std::unique_ptr<pump> conducted_pump(system& of);

}  // namespace troupe::detail
