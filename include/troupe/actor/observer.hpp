// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <troupe/actor/events.hpp>
#include <troupe/message/address.hpp>

namespace troupe {

/// Receives the events of the actors of a system; see system_options::observer. All members do
/// nothing unless overridden.
///
/// Threads: members are called on the threads that cause the events, several at once, within
///          handlers' turns. They must not block. Actions of the observer itself are not reported
///          to it.
/// Errors:  exceptions from the members are caught and ignored.
/// Cost:    none without an observer, because this is fixed when the system is created. With an
///          observer, each send takes the slower path for actors with limits of their own, and each
///          message costs three calls.
class observer {
 public:
  struct actor_event {
    address who;
    std::string_view actor;  // its name, or its type's
  };
  struct message_event {
    address who;
    std::string_view actor;
    std::string_view message;  // its type
    std::uint64_t trace;       // 0: no trace
  };

  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer() = default;

  virtual void started(const actor_event&) {}             // on_start() has returned
  virtual void restarted(const actor_event&) {}           // its next object has been made
  virtual void ended(const actor_event&, exit_reason) {}  // whether it had started or not

  // A message that a state defers, or that a function does not wait for yet, is reported as begun
  // and done each time it is examined.
  virtual void sent(const message_event&) {}  // it is in the mailbox; possibly handled already
  virtual void begun(const message_event&) {}
  virtual void done(const message_event&) {}  // its handler has returned, or is suspended

  virtual void failed(const failure&) {}  // by a handler: instead of done()
  virtual void dead(const dead_letter&) {}
  virtual void overloaded(const overload_event&) {}  // refused, dropped, redirected, paused
};

}  // namespace troupe
