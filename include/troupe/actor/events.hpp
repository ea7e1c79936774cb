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

/// The result of sending a message. The result may be ignored if the receiver applies backpressure
/// (the default): a message is then refused only by a terminated receiver or an exhausted memory
/// budget. Refusals are counted, and reported to system_options::on_dead_letter or on_overload.
enum class delivery : std::uint8_t {
  accepted,  // in the mailbox; handled unless the actor terminates first
  paused,    // accepted beyond the limit of a full mailbox: the sender is suspended or should wait
  refused,   // not taken: the actor has terminated, a budget is exhausted, or the policy refuses
  // destroyed: the policy is drop_newest; or drop_oldest, and there can never be room
  dropped,
};

[[nodiscard]] std::string_view to_string(delivery what) noexcept;

/// The reason why a request has no reply.
enum class ask_error : std::uint8_t {
  timeout,     // no reply came in time; the handler may still be running
  stopped,     // the actor stopped before it replied; with then(), also: the asking actor stopped
  refused,     // the request was not accepted: the mailbox is full; or it was dropped to make room
  failed,      // an exception left the handler, or terminated the actor before it replied
  unanswered,  // the handler destroyed its reply object without a reply
};

[[nodiscard]] std::string_view to_string(ask_error error) noexcept;

/// The reason why an actor terminated.
enum class exit_reason : std::uint8_t {
  unknown,      // it terminated long before this was queried, and no reference to it was kept
  stopped,      // stop(): every message sent before was handled
  stopped_now,  // stop_now(): the messages in the mailbox were discarded
  unreachable,  // no message, no timer, and no live actor or object that refers to it
  failed,       // an exception left a handler, on_start() or the constructor
  link_broken,  // a linked actor terminated abnormally
};

[[nodiscard]] std::string_view to_string(exit_reason reason) noexcept;

/// Returns true for an exit reason that also terminates linked actors: failed, stopped_now,
/// link_broken and unknown. With the other reasons, the termination was orderly.
[[nodiscard]] constexpr bool is_abnormal(exit_reason reason) noexcept {
  return reason != exit_reason::stopped && reason != exit_reason::unreachable;
}

/// The message that a monitoring actor gets, once for each monitor, when the monitored actor has
/// terminated. It arrives after all other messages from that actor to the monitoring one.
struct down {
  address who;
  exit_reason reason = exit_reason::unknown;
  std::string what;  // of the exception, if the actor failed; of the cause, if a link broke
  std::size_t unhandled = 0;  // messages that were left in its mailbox
  troupe::monitor monitor;    // the watch() call that this message belongs to
};

/// The message that an actor with a handler for it gets, once for each link, when a linked actor
/// has terminated for any reason. It arrives after all other messages from that actor. An actor
/// without on(link_down) terminates with the linked actor if that terminated abnormally.
struct link_down {
  address who;
  exit_reason reason = exit_reason::unknown;
  std::string what;  // as in `down`
};

/// A failed actor, as passed to system_options::on_failure.
struct failure {
  address who;
  std::string_view actor;    // its name, or its type's
  std::string_view message;  // the type it was handling; or "on_start", "on_stop"
  std::string_view what;     // of the exception
  std::uint64_t trace = 0;   // of that message; 0: no trace
};

/// A message that will never be handled, as passed to system_options::on_dead_letter.
struct dead_letter {
  address to;
  std::string_view message;  // its type
  std::uint64_t trace = 0;   // of the message; 0: no trace
};

/// Counts how limits have affected the messages of one actor, or of all actors.
struct overload_counts {
  std::uint64_t refused = 0;
  std::uint64_t dropped = 0;
  std::uint64_t redirected = 0;
  std::uint64_t paused = 0;            // how often a sender was suspended
  std::uint64_t pauses_timed_out = 0;  // of these, ended because a time-out of the sender expired
  std::uint64_t wait_cycles = 0;  // senders that continued beyond the limit to resolve a wait cycle

  friend bool operator==(const overload_counts&, const overload_counts&) = default;
};

/// An overload event, as passed to system_options::on_overload.
struct overload_event {
  enum class kind : std::uint8_t {
    refused,
    dropped,
    redirected,
    paused,            // a sender is suspended until there is room
    pause_timed_out,   // it continues without room: a time-out of one of its handlers expired
    wait_cycle,        // a suspended sender would have completed a wait cycle: it continues instead
    budget_exhausted,  // the memory budget refuses messages: at most one event per second
    overdraft_exhausted,  // as budget_exhausted, for messages beyond the limits of mailboxes
  };

  kind what;
  address to;                // the actor whose mailbox is full
  std::string_view actor;    // its name, or its type's
  std::string_view message;  // the type that was sent; empty for pause_timed_out and wait_cycle
};

/// A change in the number of a pool's threads, as passed to system_options::on_pool.
struct pool_event {
  enum class kind : std::uint8_t {
    grew,  // a handler blocks or computes for too long: another thread runs the waiting actors
    could_not_grow,  // as `grew`, but no other thread is available: those actors keep waiting
    shrank,          // a thread had nothing to do for a while and has ended
  };

  kind what = kind::shrank;
  std::string_view dispatcher;  // the pool's name; "pool" is the system's own
  unsigned threads = 0;         // number of threads that the pool has from now on
  address who;                  // whose handler it is, or was if it is over now; empty for `shrank`
  std::string_view actor;       // its name, or its type's
  std::string_view message;     // the type of the message being handled
  duration lasted{};            // so far, approximately; zero if the handler called blocking()
};

}  // namespace troupe
