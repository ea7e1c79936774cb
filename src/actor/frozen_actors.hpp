// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/references.hpp>
#include <troupe/actor/system.hpp>

namespace troupe::detail {

class runtime;

/// What a reference_visitor writes down of one actor.
struct listed_references {
  struct one {
    control_block* target;
    const void* handle;
  };
  std::vector<one> all;
  bool incomplete = false;  // for lack of memory
};

/// The idle actors of a system, held still: nobody gives them a turn, so that their references can be
/// looked at and stay as they are. What they are sent meanwhile waits in their mailboxes.
///
/// Threads:   one; one object of it for each system at a time.
/// Invariant: who was frozen is thawed or has begun to end, when this is destroyed.
/// Cost:      a search of a sorted array for each reference; 40 bytes for each actor and 4 for each
///            reference.
class frozen_actors {
 public:
  enum class which : std::uint8_t { that_list, all };

  explicit frozen_actors(runtime& home) noexcept : home_(home) {}
  frozen_actors(const frozen_actors&) = delete;
  frozen_actors& operator=(const frozen_actors&) = delete;
  ~frozen_actors() { thaw_living(true); }

  /// Freezes them, and has them list what they hold. Throws std::bad_alloc.
  void freeze(which those);

  struct outcome {
    std::size_t ended = 0;
    bool again = false;  // somebody came by: the next search may find more
  };
  /// Begins the end of those that only others of these hold.
  outcome end_unreachable() noexcept;

  /// After freeze(which::all). Throws std::bad_alloc.
  [[nodiscard]] std::vector<troupe::system::suspect> suspects();

 private:
  struct node {
    control_block* block;
    std::uint32_t references;  // to it
    std::uint32_t listed = 0;  // of these, by others of these
    std::uint32_t first = 0;   // of its own, in edges_; up to those of the next one
    bool lives = false;
    bool marked = false;
    bool is_done = false;  // thawed, or ending
  };

  void list_references_of(node& one, listed_references& found);
  [[nodiscard]] static bool is_held_by_others(const node& one) noexcept;
  template <class Lives>
  void find_living(Lives&& lives) noexcept;
  void let_live(node& one) noexcept;
  void thaw_living(bool others_too) noexcept;

  runtime& home_;
  struct place {
    const control_block* block;
    std::uint32_t in_nodes;
  };

  std::vector<node> nodes_;           // in the order of for_each_actor(): so they end
  std::vector<place> places_;         // by the address of the block
  std::vector<std::uint32_t> edges_;  // to whom
  std::vector<std::uint32_t> open_;   // living ones whose references are to be followed
};

}  // namespace troupe::detail
