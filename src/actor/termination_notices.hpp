// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/end_listener.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/sync/mutex.hpp>

#include "base/ordered_table.hpp"

namespace troupe::detail {

struct link_message;
struct watch;

/// Why an actor terminated, for all that are notified of it. The texts are made once and shared.
struct end_cause {
  exit_reason reason = exit_reason::unknown;
  std::shared_ptr<const std::string> what;  // the exception's text; null: none
  // the text for actors that terminate because of a link
  std::shared_ptr<const std::string> linked;
  std::size_t unhandled = 0;
};

/// One end of a link.
struct link_end {
  link_message* told =
      nullptr;          // sent when the other actor terminates; null: already sent, or not needed
  bool tells = false;   // on(link_down) is called instead of terminating this actor
  bool broken = false;  // the other actor has terminated abnormally
  std::shared_ptr<const std::string> what;  // only if broken; null: there was no memory
};

/// Links by the address of the other actor, in the order in which they were made.
using link_table = ordered_table<address, link_end>;

/// The recipients of an actor's termination notice: end listeners, watches and links.
///
///   open       anything may be added
///   releasing  the last turn is calling the listeners; watches and links may be added
///   told       nothing may be added: watches and links have been taken out and are notified
///
/// open → releasing → told in the last turn. An actor that terminates without a side block stays
/// open and empty; is_over() then decides by the lifeline.
///
/// Threads: everything is guarded by `guard`. A link locks the guards of both actors together, or
///          neither.
struct termination_notices {
  enum class phase : std::uint8_t { open, releasing, told };

  mutable mutex guard;
  phase now = phase::open;
  end_listener* listeners = nullptr;
  watch* watchers = nullptr;  // oldest first
  watch* last_watcher = nullptr;
  std::unique_ptr<link_table> links;

  termination_notices() = default;
  termination_notices(const termination_notices&) = delete;
  termination_notices& operator=(const termination_notices&) = delete;

  /// True if something added now would never be notified.
  [[nodiscard]] bool is_over(control_block& whose) const noexcept;

  void add(end_listener& one) noexcept;
  void remove(end_listener& one) noexcept;
  void add(watch& one) noexcept;
  void remove(watch& one) noexcept;
  [[nodiscard]] link_end* find(const address& other) noexcept;
  [[nodiscard]] static bool listens(const end_listener& one) noexcept { return one.listens_; }
  [[nodiscard]] static end_listener* next_of(const end_listener& one) noexcept { return one.next_; }
};

/// Makes all notifications, in the last turn of an actor that has a side block.
void tell_of_end(control_block& who, std::size_t unhandled) noexcept;

/// Ends the listeners of an actor whose object is gone while the actor stays.
void end_listeners_of_object(termination_notices& its) noexcept;

// ── Links: links.cpp ──────────────────────────────────────────────────────────────────────────

/// In the turn of `me`. `target` is the actor at `other`, held by the caller, or null if it has
/// terminated.
void link(control_block& me, const address& other, control_block* target);
void unlink(control_block& me, const address& other) noexcept;

void free_link_message(link_message* one) noexcept;  // null: nothing

/// Notifies the actor at `peer` if it still has a link with `who`.
void tell_link(const address& peer, const address& who, const end_cause& why) noexcept;

/// The text for the actors that terminate because `who` did.
[[nodiscard]] std::string broken_by(control_block& who, exit_reason reason,
                                    const std::string& what);

/// Forgets the links that terminated an object which is now gone.
void forget_broken_links(termination_notices& its) noexcept;

/// Returns true if a link is broken; then `what` says which. Only in the turn of the owner of these
/// termination_notices.
[[nodiscard]] bool take_broken_link(termination_notices& its, std::string& what) noexcept;

}  // namespace troupe::detail
