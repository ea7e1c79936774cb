// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <troupe/actor/dispatcher.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/observer.hpp>
#include <troupe/actor/timeline_options.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/scheduler/tuning.hpp>

namespace troupe {

/// The action of ~system() if a handler hangs: it has not returned when first `shutdown_deadline`
/// and then `hang_deadline` have passed. At the end of the first period, the contents of the
/// mailboxes are discarded. No memory is ever freed while a thread may still use it.
enum class hang_policy : std::uint8_t {
  terminate,  // print the report and call std::terminate()
  wait,       // print the report and wait for as long as it takes
};

/// Configures a system; the constructor of system takes it.
struct system_options {
  unsigned workers = 0;  // of the pool; 0: one for each core that the program may use

  /// Blocking threshold. If a handler runs for longer than this while other actors wait to be
  /// scheduled on the same worker, another thread takes over the worker and runs them. A handler
  /// that is about to block should announce this with troupe::blocking(); its worker is then taken
  /// over at once. Zero: only the workers of handlers that call blocking() are taken over.
  duration blocking_threshold = std::chrono::milliseconds(10);

  /// Upper limit for the pool's threads; at least one thread for each worker is always allowed.
  /// Threads that are no longer needed end after one second.
  unsigned max_threads = 512;

  /// A turn ends after this many messages (at least one), so that other actors are scheduled. With
  /// a higher value a busy actor is queued less often, and the other actors wait longer.
  unsigned turn_messages = detail::tuning::turn_messages;

  /// How many times a worker without work searches for work, a few pause instructions apart, before
  /// it sleeps. At least one search is always made, because that is how a woken worker finds its
  /// work. A higher value finds new work sooner and burns CPU time meanwhile.
  unsigned spin_rounds = detail::tuning::spin_rounds;

  /// CPUs and niceness of the pool's threads; see dispatcher_options.
  std::vector<unsigned> cpus = {};
  int niceness = 0;

  /// Further pools, for actors that name one in spawn_options::dispatcher. Names must be unique and
  /// must not be "pool", which is the system's own pool.
  std::vector<dispatcher_options> dispatchers = {};

  /// Called when a pool gets another thread, cannot get one, or has one less. It runs on a thread
  /// of the runtime, or within the handler that calls blocking() or get(). It must not block. By
  /// default it does nothing; these events are always counted.
  std::function<void(const pool_event&)> on_pool = {};

  /// Called for each actor that failed, in that actor's last turn. By default it prints a line to
  /// stderr.
  std::function<void(const failure&)> on_failure = {};

  /// Called for each message that will never be handled, on the thread that sent it or that
  /// terminated its receiver. By default it does nothing; dead letters are always counted. Messages
  /// that the callback itself sends to terminated actors are counted, but not reported again. A
  /// foreign thread that sends while the system is being destroyed may still be inside this
  /// callback after the destructor has returned.
  std::function<void(const dead_letter&)> on_dead_letter = {};

  /// Called for each message that a full mailbox or a budget has refused, dropped or redirected,
  /// for each suspension of a sender, and when the memory budget is exhausted. It runs on the
  /// sending thread and must not block. By default an exhausted memory budget prints a line to
  /// stderr, and everything else is only counted.
  std::function<void(const overload_event&)> on_overload = {};

  /// Receives all events of all actors; see observer.
  std::shared_ptr<troupe::observer> observer = {};
  /// Propagates traces through this system; see trace_scope. Cost: that of an observer, plus a
  /// block of 32 bytes for each message that belongs to a trace.
  bool traces = false;

  /// Records the activity of every thread as a timeline; see timeline_options.
  timeline_options timeline = {};

  /// Mailbox limits of actors whose spawn_options do not set their own.
  std::size_t max_messages = 65'536;
  std::size_t max_bytes = 8 * 1024 * 1024;

  /// Memory budget: bytes of the messages in all mailboxes together. A message that would exceed
  /// the budget is refused, and on_overload is called. With backpressure, there is no other reason
  /// for a refusal, except a terminated receiver. Messages that backpressure accepts beyond the
  /// limits of full mailboxes are charged to an overdraft of at most half of the budget. An
  /// exhausted overdraft refuses only messages beyond their receiver's limit.
  ///
  /// Zero: a quarter of the memory that the process may use (in a simulation: 1 GiB). That memory
  /// is the smallest of the host's memory, the limits of the process's cgroups and its resource
  /// limits. Each thread counts for itself and settles every 64 KiB, or every 64th of the budget if
  /// that is less. The budget is inexact by that amount for each thread.
  std::size_t memory_budget = 0;

  /// Interval of the search for unreachable cycles: actors that are referenced only by each other.
  /// It finds actors whose classes have `references` (see reference_visitor). After each search
  /// that finds nothing, the interval doubles, up to 64 times this value, until another such actor
  /// is spawned. The interval also grows if searching would otherwise take more than a 64th of one
  /// core's time. No search runs while no such actors exist. Zero: only collect_cycles() searches.
  duration cycle_search = std::chrono::seconds(1);

  /// How long the destructor lets actors handle the messages in their mailboxes. After that, the
  /// destructor prints which actors have not terminated, discards the contents of their mailboxes
  /// as stop_now() does, and prints the number of discarded messages. Waiting messages therefore
  /// never make the process hang.
  duration shutdown_deadline = std::chrono::seconds(10);

  /// The additional time for handlers that are still running at `shutdown_deadline`. After that,
  /// the destructor prints which actors are in which handlers, and then acts as `on_hang` says.
  duration hang_deadline = std::chrono::seconds(10);
  hang_policy on_hang = hang_policy::terminate;
};

}  // namespace troupe
