// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <troupe/actor/events.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/mailbox/mailbox.hpp>

#include "waiting_send.hpp"

namespace troupe::detail {

/// Decides about the messages that the limits of a mailbox do not simply admit: limits of message
/// types, budgets, backpressure, and the other overflow policies. It has no state of its own: the
/// rules and counts are in the control block of the receiver and in its side block. Make one where
/// it is needed.
///
/// Threads: any thread with a reference to the receiver, unless a member says otherwise.
/// Cost:    a pointer. The control block calls it only for messages that its own fast path does not
///          accept.
class overload {
 public:
  explicit overload(control_block& receiver) noexcept : to_(receiver) {}

  // ── Sending: overload.cpp ───────────────────────────────────────────────────────────────────
  /// Puts the message into the mailbox, or does what the rules of the receiver say.
  /// `may_redirect`: it has not been redirected yet. `is_full`: treat the mailbox as full.
  delivery send(envelope& message, std::size_t bytes, bool may_redirect,
                bool is_full = false) const noexcept;
  /// Does with the message what the policy says about one that has no room: it is refused, dropped
  /// or redirected, or fails its receiver. The message is not in the mailbox.
  delivery refuse_or_drop(envelope& message, bool may_redirect) const noexcept;

  // ── Waiting for room: async_send.cpp ────────────────────────────────────────────────────────
  /// Sends the message, or returns the actor for whose mailbox it has to wait.
  [[nodiscard]] offered offer(envelope& message) const noexcept;
  /// Puts the message into the mailbox if that then holds at most `most` units; otherwise the
  /// message still belongs to the caller. `taken::by_idle`: the caller must call schedule().
  [[nodiscard]] taken take_in(envelope& message, std::size_t bytes,
                              std::uint32_t most) const noexcept;
  /// As take_in(), however full the mailbox is, as long as the overdraft suffices: never returns
  /// `taken::full`. The caller holds a reference to the actor. `is_locked`: the caller holds the
  /// mutex of the pauses.
  [[nodiscard]] taken take_in_beyond_limit(envelope& message, std::size_t bytes,
                                           bool is_locked) const noexcept;
  /// Completes a send whose message was finally not accepted.
  delivery not_taken(taken why, envelope& message) const noexcept;

  // ── Accounts of messages that leave the mailbox. All but the first are the turn's. ──────────
  void give_place_back(const dispatch& how) const noexcept;
  /// The message had a place and keeps it, whatever the limit is.
  void keep_place(const dispatch& how) const noexcept;
  void no_longer_waits(const dispatch& how, std::size_t bytes) const noexcept;
  void taken_from_ring(const envelope& message) const noexcept;

 private:
  [[nodiscard]] bool take_place(const dispatch& how) const noexcept;
  template <class Push>
  [[nodiscard]] taken take_in_by(envelope& message, std::size_t bytes, Push&& push) const noexcept;
  [[nodiscard]] mailbox::pushed push_beyond_limit(envelope& message, std::size_t bytes,
                                                  bool is_locked) const noexcept;
  [[nodiscard]] static bool this_thread_may_wait() noexcept;
  [[nodiscard]] delivery wait_in_line(envelope& message) const noexcept;
  delivery slow_down(const dispatch& how) const noexcept;
  void drop(envelope& message, overload_event::kind why) const noexcept;
  [[nodiscard]] envelope* redirected(const redirection& where, envelope& message) const noexcept;
  delivery redirect(const redirection& where, envelope& message) const noexcept;
  void fail_receiver() const noexcept;
  void tell_exhausted(const envelope& message) const noexcept;

  control_block& to_;
};

}  // namespace troupe::detail
