// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/actor/monitor.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/message/address.hpp>

namespace troupe {

/// What became of a message that was sent. Ignoring it is fine: a refusal by an ended actor is told to
/// system_options::on_dead_letter, one by a full mailbox to on_overload, and both are counted.
enum class delivery : std::uint8_t {
  accepted,  // in the mailbox; handled unless the actor ends first
  paused,    // the same, and the mailbox is full: the sender is made to wait, or should
  refused,   // not taken: the actor has ended, or its mailbox is full
  dropped,  // destroyed, because the receiver was spawned with drop_newest; or with drop_oldest, and
            // there is never room for it
};

[[nodiscard]] std::string_view to_string(delivery what) noexcept;

/// Why there is no answer to what was asked.
enum class ask_error : std::uint8_t {
  timeout,     // none came in time; the handler may still be about it
  stopped,     // the actor ended before it answered
  refused,     // the question was not taken: the mailbox is full, or it was dropped to make room
  failed,      // an exception left the handler, or ended the actor before it answered
  unanswered,  // the handler let go of its reply
};

[[nodiscard]] std::string_view to_string(ask_error error) noexcept;

/// Why an actor ended.
enum class exit_reason : std::uint8_t {
  unknown,      // it had ended long before anybody asked, and nobody kept a reference
  stopped,      // stop(): everything sent before was handled
  stopped_now,  // stop_now(): what was in the mailbox was discarded
  unreachable,  // no message, no timer, and nobody alive who refers to it
  failed,       // an exception left a handler, on_start() or the constructor
  link_broken,  // an actor that it was linked with ended abnormally
};

[[nodiscard]] std::string_view to_string(exit_reason reason) noexcept;

/// True for an end that takes linked actors along: nobody had asked for it in order (failed,
/// stopped_now, link_broken), or nobody knows (unknown).
[[nodiscard]] constexpr bool is_abnormal(exit_reason reason) noexcept {
  return reason != exit_reason::stopped && reason != exit_reason::unreachable;
}

/// What a watcher gets, once for each watch, when the watched actor has ended: after everything
/// else that this actor had sent to the watcher.
struct down {
  address who;
  exit_reason reason = exit_reason::unknown;
  std::string what;           // of the exception, if it failed; of the cause, if a link broke
  std::size_t unhandled = 0;  // messages that were left in its mailbox
  troupe::monitor monitor;    // which watch() this answers
};

/// What an actor that has a handler for it gets, once for each link, when an actor that it is linked
/// with has ended in any way: after everything else that this one had sent to it. Who has no
/// on(link_down) ends with the other one if that ended abnormally.
struct link_down {
  address who;
  exit_reason reason = exit_reason::unknown;
  std::string what;  // as in `down`
};

/// A failed actor, as system_options::on_failure is told.
struct failure {
  address who;
  std::string_view actor;    // its name, or its type's
  std::string_view message;  // the type it was handling; or "on_start", "on_stop"
  std::string_view what;     // of the exception
  std::uint64_t trace = 0;   // to which that message belongs; 0: none
};

/// A message that nobody will handle, as system_options::on_dead_letter is told.
struct dead_letter {
  address to;
  std::string_view message;  // its type
  std::uint64_t trace = 0;   // to which it belongs; 0: none
};

/// What limits have done to the messages of one actor, or of all.
struct overload_counts {
  std::uint64_t refused = 0;
  std::uint64_t dropped = 0;
  std::uint64_t redirected = 0;
  std::uint64_t paused = 0;            // how often a sender was made to wait
  std::uint64_t pauses_timed_out = 0;  // of these, how many ended because of pause_max

  friend bool operator==(const overload_counts&, const overload_counts&) = default;
};

/// As system_options::on_overload is told.
struct overload_event {
  enum class kind : std::uint8_t { refused, dropped, redirected, paused, pause_timed_out };

  kind what;
  address to;                // whose mailbox is full
  std::string_view actor;    // its name, or its type's
  std::string_view message;  // the type that was sent; empty for pause_timed_out
};

/// What became of a pool's threads, as system_options::on_pool is told.
struct pool_event {
  enum class kind : std::uint8_t {
    grew,  // a handler blocks or computes for too long: another thread does what waits behind it
    could_not_grow,  // the same, and there is no other thread to be had: all that waits there goes on waiting
    shrank,  // a thread had nothing to do for a while and has ended
  };

  kind what = kind::shrank;
  std::string_view dispatcher;  // whose pool; «pool» is the system's own
  unsigned threads = 0;         // that the pool has from now on
  address who;                  // whose handler it is, or was: it may be over. None for `shrank`
  std::string_view actor;       // its name, or its type's
  std::string_view message;     // the type that it handles
  duration lasted{};  // so far, about; zero if the handler has said that it is about to block
};

}  // namespace troupe
