// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stdexcept>

#include <troupe/base/clock.hpp>

namespace troupe::sim {

/// What may go wrong in a run. Each strikes by choice, once in so many times; 0: never.
struct faults {
  /// A handler fails: it throws injected_fault in the place of running.
  unsigned failures_one_in = 0;

  /// A message finds the mailbox full, and what its receiver does then happens: it is refused, dropped, goes elsewhere,
  /// and so on. With overload::pause_senders it is refused, as it is where the sender cannot pause.
  unsigned full_mailboxes_one_in = 0;

  /// Who has something to do gets no turn for so long at most.
  unsigned pauses_one_in = 0;
  duration pause_max = std::chrono::seconds(1);

  /// A message is on its way for so long at most; what the same actor sends behind it to the same one, too. Between
  /// actors of one process that does not happen: a message that is sent later, because of this one, may be there
  /// before it. For actors that stand for other processes. What is still late when its system ends is dropped.
  unsigned late_messages_one_in = 0;
  duration message_late_max = std::chrono::milliseconds(100);

  // The following two only for all actors.

  /// A timer fires later than it is due, by so much at most.
  unsigned late_timers_one_in = 0;
  duration timer_late_max = std::chrono::milliseconds(100);

  /// In a handler there is no memory for a message, an answer or a coroutine: std::bad_alloc. What the program allocates
  /// itself is not in it.
  unsigned failed_allocations_one_in = 0;
};

/// What a handler throws that a simulation has let fail.
class injected_fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace troupe::sim
