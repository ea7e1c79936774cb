// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// The same of one dispatcher as of all together in `statistics`.
struct dispatcher_statistics {
  std::string name;  // «pool» is the system's own
  std::uint64_t workers = 0;
  std::uint64_t workers_busy = 0;
  std::uint64_t workers_parked = 0;
  std::uint64_t workers_limit = 0;
  std::uint64_t threads = 0;
  std::uint64_t threads_resting = 0;
  std::uint64_t workers_replaced = 0;
  std::uint64_t workers_stuck = 0;
};

/// Counts since the system started, and gauges of now. Taken while everything runs: each figure is
/// right, but they are not all of the same instant.
struct statistics {
  std::uint64_t actors_alive = 0;
  std::uint64_t actors_spawned = 0;
  std::uint64_t actors_collected = 0;       // that held each other, and nobody else did
  std::uint64_t messages_accepted = 0;      // put into mailboxes, the runtime's own included
  std::uint64_t messages_handled = 0;       // taken out, the discarded ones included
  std::uint64_t messages_waiting = 0;       // gauge: in all mailboxes
  std::uint64_t message_bytes_waiting = 0;  // gauge: with heads, and what they say that they own
  std::uint64_t mailbox_depth_highest = 0;  // the longest queue that any turn found
  std::uint64_t turns = 0;
  std::uint64_t dead_letters = 0;
  std::uint64_t failures = 0;
  std::uint64_t restarts = 0;             // of supervised actors, behind the same handle
  std::uint64_t messages_refused = 0;     // by full mailboxes and budgets
  std::uint64_t messages_dropped = 0;     // by overload::drop_newest and drop_oldest
  std::uint64_t messages_redirected = 0;  // by overload::redirect_to
  std::uint64_t pauses = 0;               // senders made to wait by a full mailbox
  std::uint64_t pauses_timed_out = 0;     // of these, ended by system_options::pause_max
  std::uint64_t senders_paused = 0;       // gauge
  std::uint64_t handlers_waiting = 0;     // gauge: in send_when_ready()
  std::uint64_t answers_late = 0;         // of ask(): nobody waited any more
  std::uint64_t timers_armed = 0;         // gauge
  std::uint64_t ticks_skipped = 0;        // of send_every: the one before was still waiting
  std::uint64_t workers = 0;              // these and the following of all dispatchers together
  std::uint64_t workers_busy = 0;         // gauge: running or looking for work
  std::uint64_t workers_parked = 0;       // gauge
  std::uint64_t workers_limit = 0;  // gauge: so many may run, where more were measured to be slower
  std::uint64_t pool_threads = 0;   // gauge: those of the workers, and of handlers that last
  std::uint64_t pool_threads_resting = 0;  // gauge: of these, about to end if nobody needs them
  std::uint64_t workers_replaced = 0;  // handlers that lasted, behind which another thread went on
  std::uint64_t workers_stuck = 0;     // likewise, but there was no other thread to be had
  std::uint64_t own_threads = 0;       // gauge
  std::vector<dispatcher_statistics> dispatchers = {};
};

}  // namespace troupe
