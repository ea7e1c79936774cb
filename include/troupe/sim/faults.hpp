// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stdexcept>

#include <troupe/base/clock.hpp>

namespace troupe::sim {

/// The faults that a simulation may inject in a run. Each occurs with a probability of one in the
/// given number; 0: never.
struct faults {
  /// A handler fails: instead of running it throws injected_fault.
  unsigned failures_one_in = 0;

  /// A message finds the mailbox full, and the receiver's overflow policy applies: the sender is
  /// suspended, or the message is refused, dropped, redirected, and so on.
  unsigned full_mailboxes_one_in = 0;

  /// An actor with work to do is not scheduled for at most `pause_max`.
  unsigned pauses_one_in = 0;
  duration pause_max = std::chrono::seconds(1);

  /// A message is delayed for at most `message_late_max`, together with later messages of the same
  /// sender to the same receiver. Within one process this cannot happen: a message sent later,
  /// because of this one, may then arrive before it. Use this fault for actors that represent other
  /// processes. Messages still delayed when their system ends are dropped.
  unsigned late_messages_one_in = 0;
  duration message_late_max = std::chrono::milliseconds(100);

  // The following two can only be injected for all actors.

  /// A timer fires late, by at most `timer_late_max`.
  unsigned late_timers_one_in = 0;
  duration timer_late_max = std::chrono::milliseconds(100);

  /// In a handler, allocating a message, a reply or a coroutine throws std::bad_alloc. Allocations
  /// of the program itself are not affected.
  unsigned failed_allocations_one_in = 0;
};

/// Thrown by a handler in which a simulation has injected a failure.
class injected_fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace troupe::sim
