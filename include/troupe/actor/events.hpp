// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/message/address.hpp>

namespace troupe {

namespace detail {
struct down_access;
}  // namespace detail

/// What became of a message that was sent. Ignoring it is fine: what is refused is counted, and
/// goes to system_options::on_dead_letter.
enum class delivery : std::uint8_t {
  accepted,  // in the mailbox; handled unless the actor ends first
  refused,   // the actor has ended; the message is a dead letter
};

/// Why an actor ended.
enum class exit_reason : std::uint8_t {
  unknown,      // it had ended long before anybody asked, and nobody kept a reference
  stopped,      // stop(): everything sent before was handled
  stopped_now,  // stop_now(): what was in the mailbox was discarded
  unreachable,  // no reference, no message, no timer was left
  failed,       // an exception left a handler, on_start() or the constructor
};

[[nodiscard]] std::string_view to_string(exit_reason reason) noexcept;

/// What a watcher gets, once for each watch, when the watched actor has ended: after everything
/// else that this actor had sent to the watcher.
struct down {
  address who;
  exit_reason reason = exit_reason::unknown;
  std::string what;           // of the exception, if it failed
  std::size_t unhandled = 0;  // messages that were left in its mailbox

 private:
  friend struct detail::down_access;
  address watcher_;  // to whom this will go
};

/// A failed actor, as system_options::on_failure is told.
struct failure {
  address who;
  std::string_view actor;    // its name, or its type's
  std::string_view message;  // the type it was handling; or "on_start", "on_stop"
  std::string_view what;     // of the exception
};

/// A message that nobody will handle, as system_options::on_dead_letter is told.
struct dead_letter {
  address to;
  std::string_view message;  // its type
};

namespace detail {

struct down_access {
  static address& watcher(down& of) noexcept { return of.watcher_; }
};

}  // namespace detail
}  // namespace troupe
