// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <troupe/base/clock.hpp>

namespace troupe {

/// Figures of one dispatcher; `statistics` has the totals of the fields with these names.
struct dispatcher_statistics {
  std::string name;  // "pool" is the system's own
  std::uint64_t workers = 0;
  std::uint64_t workers_busy = 0;
  std::uint64_t workers_parked = 0;
  std::uint64_t workers_limit = 0;
  std::uint64_t threads = 0;
  std::uint64_t threads_resting = 0;
  std::uint64_t workers_replaced = 0;
  std::uint64_t workers_stuck = 0;
};

/// Figures of one blocking_pool.
struct blocking_pool_statistics {
  std::string name;
  std::uint64_t threads = 0;          // gauge
  std::uint64_t threads_busy = 0;     // gauge: in a call
  std::uint64_t calls_waiting = 0;    // gauge: the length of the queue
  std::uint64_t queue_max = 0;        // its limit
  std::uint64_t calls_finished = 0;   // including those that threw
  std::uint64_t calls_failed = 0;     // of these, those that threw
  std::uint64_t calls_abandoned = 0;  // of these, those whose result nothing waited for any more
  std::uint64_t calls_refused = 0;    // the queue was full
  // left the queue without a call: cancelled, timed out, or stopped
  std::uint64_t calls_cancelled = 0;
  duration waited{};  // in the queue: all calls that have begun
  duration ran{};     // all calls that have finished
};

/// Counters since the start of the system, and gauges of the current state. It is taken while
/// everything runs: each figure is correct, but they are not all from the same instant.
struct statistics {
  std::uint64_t actors_alive = 0;
  std::uint64_t actors_spawned = 0;
  std::uint64_t actors_collected = 0;   // terminated as unreachable: referenced only by each other
  std::uint64_t messages_accepted = 0;  // put into mailboxes, including the runtime's own
  std::uint64_t messages_handled = 0;   // taken out of mailboxes, including discarded ones
  std::uint64_t messages_waiting = 0;   // gauge: in all mailboxes
  std::uint64_t message_bytes_waiting = 0;  // gauge: with headers and declared owned bytes
  std::uint64_t mailbox_depth_highest = 0;  // the longest queue that any turn found
  std::uint64_t turns = 0;
  std::uint64_t dead_letters = 0;
  std::uint64_t failures = 0;
  std::uint64_t restarts = 0;             // of supervised actors; references stay valid
  std::uint64_t messages_refused = 0;     // by budgets, and by policies that refuse
  std::uint64_t messages_dropped = 0;     // by overflow::drop_newest and drop_oldest
  std::uint64_t messages_redirected = 0;  // by overflow::redirect_to
  std::uint64_t pauses = 0;               // how often a full mailbox suspended a sender
  std::uint64_t pauses_timed_out = 0;     // of these, ended by a time-out of the sender
  std::uint64_t wait_cycles = 0;  // senders that continued beyond the limit to resolve a wait cycle
  std::uint64_t senders_paused = 0;    // gauge: suspended actors and threads that wait for room
  std::uint64_t overdraft_bytes = 0;   // gauge: accepted beyond the limits of full mailboxes
  std::uint64_t overdraft_limit = 0;   // bytes; half of memory_budget
  std::uint64_t budget_exhausted = 0;  // reports to on_overload: at most one a second
  std::uint64_t memory_budget = 0;     // bytes; see system_options::memory_budget
  std::uint64_t handlers_waiting = 0;  // gauge: in async_send()
  std::uint64_t answers_late = 0;      // replies to ask() that came after the wait had ended
  std::uint64_t timers_armed = 0;      // gauge
  std::uint64_t ticks_skipped = 0;     // of send_every: the tick before was still waiting
  std::uint64_t workers = 0;           // this and the following: all dispatchers together
  std::uint64_t workers_busy = 0;      // gauge: running or searching for work
  std::uint64_t workers_parked = 0;    // gauge
  std::uint64_t workers_limit = 0;     // gauge: most that may run; more were measured to be slower
  std::uint64_t pool_threads = 0;      // gauge: of workers, and of long-running handlers
  std::uint64_t pool_threads_resting = 0;  // gauge: of these, idle ones that will end soon
  // long-running handlers whose worker another thread took over
  std::uint64_t workers_replaced = 0;
  std::uint64_t workers_stuck = 0;  // long-running handlers for which no other thread was available
  std::uint64_t own_threads = 0;    // gauge
  std::vector<dispatcher_statistics> dispatchers = {};
  std::vector<blocking_pool_statistics> blocking_pools = {};
};

}  // namespace troupe
