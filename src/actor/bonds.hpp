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

/// Why an actor ended, for all who are told of it: one text, made once.
struct end_cause {
  exit_reason reason = exit_reason::unknown;
  std::shared_ptr<const std::string> what;    // of the exception; null: none
  std::shared_ptr<const std::string> linked;  // what it is for those that end with it
  std::size_t unhandled = 0;
};

/// One end of a link.
struct link_end {
  link_message* told =
      nullptr;          // to be sent when the other one ends; null: it was, or there is none
  bool tells = false;   // on(link_down) is called, in the place of an end
  bool broken = false;  // the other one has ended abnormally
  std::shared_ptr<const std::string> what;  // then; null: there was no memory
};

/// By the other one; in the order in which the links were made.
using link_table = ordered_table<address, link_end>;

/// Who is to be told of an actor's end.
///
///   open       anybody may be added
///   releasing  the last turn is calling the listeners; watchers and links may be added
///   told       nobody may be added: the watchers and the links have been taken out, and are told
///
/// open → releasing → told in the last turn. An actor that ends without a side block stays open and
/// empty; is_over() knows by the lifeline.
///
/// Threads: everything under `guard`. Two are locked together for a link, both or none.
struct bonds {
  enum class phase : std::uint8_t { open, releasing, told };

  mutable mutex guard;
  phase now = phase::open;
  end_listener* listeners = nullptr;
  watch* watchers = nullptr;  // the oldest first
  watch* last_watcher = nullptr;
  std::unique_ptr<link_table> links;

  bonds() = default;
  bonds(const bonds&) = delete;
  bonds& operator=(const bonds&) = delete;

  /// True if nobody who is added now would be told.
  [[nodiscard]] bool is_over(control_block& whose) const noexcept;

  void add(end_listener& one) noexcept;
  void remove(end_listener& one) noexcept;
  void add(watch& one) noexcept;
  void remove(watch& one) noexcept;
  [[nodiscard]] link_end* find(const address& other) noexcept;
  [[nodiscard]] static bool listens(const end_listener& one) noexcept { return one.listens_; }
  [[nodiscard]] static end_listener* next_of(const end_listener& one) noexcept { return one.next_; }
};

/// The whole of it, in the last turn of an actor that has a side block.
void tell_of_end(control_block& who, std::size_t unhandled) noexcept;

/// Of an actor whose object is gone, and that stays.
void end_listeners_of_object(bonds& its) noexcept;

// ── Links: links.cpp ──────────────────────────────────────────────────────────────────────────

/// In the turn of `me`. `target` is that actor, held by the caller, or null if it has ended.
void link(control_block& me, const address& other, control_block* target);
void unlink(control_block& me, const address& other) noexcept;

void free_link_message(link_message* one) noexcept;  // null: nothing

/// Tells the actor at `peer`, if it still has a link with `who`.
void tell_link(const address& peer, const address& who, const end_cause& why) noexcept;

/// What those are told who end because `who` did.
[[nodiscard]] std::string broken_by(control_block& who, exit_reason reason,
                                    const std::string& what);

/// The object that they ended is gone.
void forget_broken_links(bonds& its) noexcept;

/// True if a link is broken; then `what` says which. In the turn whose bonds these are.
[[nodiscard]] bool take_broken_link(bonds& its, std::string& what) noexcept;

}  // namespace troupe::detail
