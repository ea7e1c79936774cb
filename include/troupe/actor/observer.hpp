// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <troupe/actor/events.hpp>
#include <troupe/message/address.hpp>

namespace troupe {

/// Is told what the actors of a system do; see system_options::observer. One that overrides nothing sees
/// nothing.
///
/// Threads: its members are called by whoever does what they tell, several at once, within handlers'
///          turns. They must not block. What they do themselves they are not told.
/// Errors:  what they throw is caught and forgotten.
/// Cost:    without an observer none: a system knows from its beginning whether it has one. With one, each
///          send takes the way of those with limits of their own, and each message three calls.
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
    std::uint64_t trace;       // 0: none
  };

  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer() = default;

  virtual void started(const actor_event&) {}             // on_start() has returned
  virtual void restarted(const actor_event&) {}           // its next object is made
  virtual void ended(const actor_event&, exit_reason) {}  // whether it had started or not

  // What a state defers, and what a function does not wait for yet, is begun and done each time that it is looked at.
  virtual void sent(const message_event&) {}  // it is in the mailbox; maybe handled already
  virtual void begun(const message_event&) {}
  virtual void done(const message_event&) {}  // its handler has returned, or waits

  virtual void failed(const failure&) {}  // of a handler: in the place of done()
  virtual void dead(const dead_letter&) {}
  virtual void overloaded(const overload_event&) {}  // refused, dropped, redirected, paused
};

}  // namespace troupe
