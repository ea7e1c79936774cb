// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/references.hpp>
#include <troupe/actor/system.hpp>

#include "slices.hpp"

namespace troupe::detail {

class lifeline;
class runtime;

/// The references that a reference_visitor has recorded for one actor.
struct listed_references {
  struct one {
    control_block* target;
    const void* handle;
  };
  std::vector<one> all;
  bool incomplete = false;  // for lack of memory
};

/// Freezes the idle actors of a system. They are not scheduled, so their references can be
/// inspected and do not change. Messages sent to them meanwhile wait in their mailboxes.
///
/// Threads:   one thread; at most one object per system at a time.
/// Invariant: when this is destroyed, every actor that it froze has been thawed or has begun to
///            terminate.
/// Cost:      a look into a hash table for each reference; 44 bytes for each actor and 4 for each
///            reference. The thread yields its core after each slice. A thread that tries to
///            reference one of the actors while it is undecided waits for one slice, not for all.
class frozen_actors {
 public:
  enum class which : std::uint8_t { that_list, all };

  /// `pace`: outlives this.
  frozen_actors(runtime& home, slices& pace) noexcept : home_(home), pace_(pace) {}
  frozen_actors(const frozen_actors&) = delete;
  frozen_actors& operator=(const frozen_actors&) = delete;
  ~frozen_actors() { thaw_living(true); }

  /// Freezes actors and lets them list their references. `only`: these, ordered by address; null:
  /// all that `those` selects. Throws std::bad_alloc.
  void freeze(which those, const std::vector<const control_block*>* only = nullptr);

  struct outcome {
    std::size_t ended = 0;
    bool again = false;  // another thread interfered: the next search may find more
  };
  /// Begins to terminate the actors that are referenced only by others of these.
  outcome end_unreachable() noexcept;

  /// Call after freeze(which::all). Throws std::bad_alloc.
  [[nodiscard]] std::vector<troupe::system::suspect> suspects();

 private:
  struct node {
    control_block* block;
    std::uint32_t references;  // to it
    std::uint32_t listed = 0;  // how many of these come from other frozen actors' lists
    // its first edge in edges_; its edges end where the next node's begin
    std::uint32_t first = 0;
    bool lives = false;
    bool marked = false;   // undecided for other threads
    bool is_done = false;  // thawed, or terminating
  };

  void list_references_of(node& one, listed_references& found);
  [[nodiscard]] static bool is_held_by_others(const node& one) noexcept;
  template <class Lives>
  void find_living(Lives&& lives) noexcept;
  void let_live(node& one) noexcept;
  void set_living(node& one) noexcept;
  void thaw_living(bool others_too) noexcept;
  void enter_places();
  [[nodiscard]] std::size_t place_of(const control_block* block) const noexcept;
  [[nodiscard]] node* frozen(const control_block* block) noexcept;
  [[nodiscard]] node* awaited() noexcept;
  void end_marked(node& one, outcome& counts) noexcept;

  runtime& home_;
  slices& pace_;
  // in the order of for_each_actor(), in which they also terminate
  std::vector<node> nodes_;
  std::vector<std::uint32_t> places_;  // a hash table of indexes of nodes, plus 1; 0: empty
  std::vector<std::uint32_t> edges_;   // indexes of the referenced nodes
  std::vector<std::uint32_t> open_;    // living nodes whose references are still to be followed
};

}  // namespace troupe::detail
